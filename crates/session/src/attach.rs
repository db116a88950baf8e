//! Finding what a request continues.

use std::sync::Arc;

use verbatim_chat::{Chain, Message, Setup};
use verbatim_dialects::Wire;
use verbatim_events::{Cause, NodeId};
use verbatim_forest::{Choice, Place, Plan, choose};

use crate::sessions::Shared;
use crate::{Session, TurnError};

/// A request's place in its session, and what it brings that is new.
pub(crate) struct Attached {
    pub(crate) plan: Plan,
    /// Tools and template arguments, where the request begins a root.
    pub(crate) setup: Option<Arc<Setup>>,
    /// Messages after the place.
    pub(crate) new: Vec<Arc<Message>>,
}

/// A stored path that the request is known to begin with.
#[derive(Clone, Copy)]
struct Base {
    /// Its last node.
    node: NodeId,
    chain: Chain,
    /// How many of the request's messages it holds.
    messages: usize,
}

/// Attaches a request. Only what follows its longest known beginning is parsed and judged.
pub(crate) fn attach(
    shared: &Shared,
    session: &Session,
    wire: &dyn Wire,
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    let base = known_beginning(session, wire);
    let known = base.map_or(0, |base| base.messages);
    let mut sent = parse(wire, known..wire.len(), lost)?;

    let found = base.and_then(|base| find(session, Some(base), base.chain, &sent));
    if let Some(choice) = found {
        return placed(session, wire, choice, sent, lost);
    }
    // The request begins with an observation and then leaves every generation sampled from it: what
    // it continues is the generation before.
    let earlier = base.and_then(|base| before(session, base));
    let known = earlier.map_or(0, |base| base.messages);
    let again = base.map_or(0, |base| base.messages);
    sent.splice(0..0, parse(wire, known..again, &mut Vec::new())?);
    if let Some(choice) = earlier.and_then(|base| find(session, Some(base), base.chain, &sent)) {
        return placed(session, wire, choice, sent, lost);
    }
    let setup = root(shared, wire)?;
    match find(session, None, Chain::root(&setup), &sent) {
        Some(choice) => placed(session, wire, choice, sent, lost),
        None => {
            let plan = session.with_forest(|forest| forest.plan(Place::Root, wire.len()))?;
            if plan.drops.is_none() && session.with_forest(|forest| forest.head().is_some()) {
                lost.push(Cause::Rerooted);
            }
            Ok(Attached { plan, setup: Some(Arc::new(setup)), new: sent })
        }
    }
}

/// The longest beginning of the request whose bytes led to an observation before.
fn known_beginning(session: &Session, wire: &dyn Wire) -> Option<Base> {
    let state = session.state();
    (1..=wire.len()).rev().find_map(|messages| {
        let node = *state.anchors.get(&wire.bytes(messages))?;
        Some(Base { node, chain: state.forest.chain(node)?, messages })
    })
}

/// The generation before an observation.
fn before(session: &Session, base: Base) -> Option<Base> {
    session.with_forest(|forest| {
        let observation = forest.node(base.node)?;
        let node = observation.parent?;
        let messages = base.messages - observation.messages().len();
        Some(Base { node, chain: forest.chain(node)?, messages })
    })
}

fn parse(
    wire: &dyn Wire,
    range: std::ops::Range<usize>,
    lost: &mut Vec<Cause>,
) -> Result<Vec<Arc<Message>>, TurnError> {
    Ok(range.map(|at| wire.message(at, lost).map(Arc::new)).collect::<Result<_, _>>()?)
}

/// Looks candidates up under the lock and judges them outside it.
fn find(session: &Session, base: Option<Base>, from: Chain, sent: &[Arc<Message>]) -> Option<Choice> {
    let matcher = session.with_forest(|forest| Arc::clone(forest.matcher()));
    let mut chains = Vec::with_capacity(sent.len() + 1);
    chains.push(from);
    chains.extend(sent.iter().scan(from, |chain, message| {
        *chain = chain.then(matcher.key(message));
        Some(*chain)
    }));
    let candidates = session.with_forest(|forest| forest.candidates(base.map(|base| base.node), &chains));
    choose(matcher.as_ref(), &candidates, sent)
}

fn placed(
    session: &Session,
    wire: &dyn Wire,
    choice: Choice,
    mut sent: Vec<Arc<Message>>,
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    if choice.respelt {
        lost.push(Cause::Respelt);
    }
    let plan = session.with_forest(|forest| forest.plan(choice.place, wire.len()))?;
    Ok(Attached { plan, setup: None, new: sent.split_off(choice.covered) })
}

/// The request's tools and template arguments, the server's own arguments laid under them.
fn root(shared: &Shared, wire: &dyn Wire) -> Result<Setup, TurnError> {
    let mut setup = wire.setup()?;
    for (name, value) in &shared.settings.template {
        setup.template.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(setup)
}
