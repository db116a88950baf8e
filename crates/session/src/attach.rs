//! Finding what a request continues.

use std::sync::Arc;

use verbatim_chat::{Chain, Message, Role, Setup};
use verbatim_dialects::{Continued, Invalid, Wire};
use verbatim_events::{Cause, NodeId};
use verbatim_forest::{Choice, Lineage, Node, Place, Plan, Refusal};

use crate::sessions::Shared;
use crate::{Session, ToolsDrift, TurnError};

/// A request's place in its session, and what it brings that is new.
pub(crate) struct Attached {
    pub(crate) plan: Plan,
    /// Tools and template arguments, where the request begins a root or changes them.
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
pub(crate) async fn attach(
    shared: &Shared,
    session: &Session,
    wire: &(dyn Wire + Sync),
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    if let Some(continued) = wire.continues() {
        return follow(shared, session, wire, continued, lost).await;
    }
    let base = known_beginning(session, wire);
    let known = base.map_or(0, |base| base.messages);
    let mut sent = parse(session, wire, known..wire.len(), lost)?;
    // Bytes that are known are so under the tools that they came with.
    let setup = base.and_then(|base| session.with_forest(|forest| forest.setup(base.node)));

    if let Some((base, setup)) = base.zip(setup.clone())
        && let Some(choice) = find(session, wire, Some(base.node), base.chain, &sent).await?
    {
        return placed(shared, session, wire, Found { choice, setup, sent }, lost);
    }
    // The request begins with an observation and then leaves every generation sampled from it: what
    // it continues is the generation before.
    let earlier = base.and_then(|base| before(session, base));
    let known = earlier.map_or(0, |base| base.messages);
    let again = base.map_or(0, |base| base.messages);
    sent.splice(0..0, parse(session, wire, known..again, &mut Vec::new())?);
    if let Some((base, setup)) = earlier.zip(setup)
        && let Some(choice) = find(session, wire, Some(base.node), base.chain, &sent).await?
    {
        return placed(shared, session, wire, Found { choice, setup, sent }, lost);
    }
    let setup = Arc::new(root(shared, wire, lost)?);
    from_root(shared, session, wire, setup, sent, lost).await
}

/// Looks for the place of a whole conversation.
async fn from_root(
    shared: &Shared,
    session: &Session,
    wire: &(dyn Wire + Sync),
    setup: Arc<Setup>,
    sent: Vec<Arc<Message>>,
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    let chain = Chain::root(line(session).as_ref().unwrap_or(&setup));
    if let Some(choice) = find(session, wire, None, chain, &sent).await? {
        return placed(shared, session, wire, Found { choice, setup, sent }, lost);
    }
    let in_force = session.with_forest(|forest| forest.head().and_then(|head| forest.setup(head)));
    if let Some(in_force) = in_force {
        drifts(shared, &in_force, &setup)?;
    }
    let plan = session.with_forest(|forest| forest.plan(Place::Root, sent.len()))?;
    if plan.drops == 0 && session.with_forest(|forest| forest.head().is_some()) {
        lost.push(Cause::Rerooted);
    }
    Ok(Attached { plan, setup: Some(setup), new: sent })
}

/// Attaches a request that names the reply it follows. It goes on after that reply, unless it replaces what stands at
/// the conversation's beginning: then it is the whole conversation with that in its place.
async fn follow(
    shared: &Shared,
    session: &Session,
    wire: &(dyn Wire + Sync),
    continued: Continued<'_>,
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    let Continued { field, response, front } = continued;
    let (node, chain, in_force, told, linear) = session
        .with_forest(|forest| {
            let mut nodes = forest.nodes().rev();
            let is_named = |node: &Node| node.generation().is_some_and(|turn| turn.response == response);
            let (node, _) = nodes.find(|(_, node)| is_named(node))?;
            let linear = forest.lineage() == Lineage::Linear;
            Some((node, forest.chain(node)?, forest.setup(node)?, forest.messages(node), linear))
        })
        .ok_or_else(|| {
            let problem = format!("{response:?} is no reply of this session; send the whole conversation");
            Invalid::new(field, problem)
        })?;
    let mut sent = parse(session, wire, 0..wire.len(), lost)?;
    let (mut ignored, mut front) = (Vec::new(), sent.drain(..front).collect::<Vec<_>>());
    let setup = Arc::new(root(shared, wire, &mut ignored)?);
    let instructed = told.first().filter(|first| first.role == Role::System);
    let same = |new: &Arc<Message>| instructed.is_some_and(|old| old.content.text() == new.content.text());
    if front.iter().all(same)
        && (linear || *in_force == *setup)
        && let Some(choice) = find(session, wire, Some(node), chain, &sent).await?
    {
        return placed(shared, session, wire, Found { choice, setup, sent }, lost);
    }
    lost.append(&mut ignored);
    let kept = usize::from(!front.is_empty() && instructed.is_some());
    front.extend(told.into_iter().skip(kept));
    front.append(&mut sent);
    from_root(shared, session, wire, setup, front, lost).await
}

/// What the line of a linear session began with: it goes on whatever tools a request sends, and is found
/// under its first ones.
pub(crate) fn line(session: &Session) -> Option<Arc<Setup>> {
    session.with_forest(|forest| {
        let head = forest.head().filter(|_| forest.lineage() == Lineage::Linear)?;
        forest.setup(forest.path(head).first()?.id)
    })
}

/// Whether a request's tools or template arguments differ from those in force.
fn drifts(shared: &Shared, in_force: &Setup, sent: &Setup) -> Result<bool, TurnError> {
    if in_force == sent {
        return Ok(false);
    }
    let field = if in_force.tools == sent.tools { "chat_template_kwargs" } else { "tools" };
    match shared.settings.tools_drift {
        ToolsDrift::Refuse => Err(Refusal::Drifted { field }.into()),
        ToolsDrift::Accept => Ok(true),
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

pub(crate) fn parse(
    session: &Session,
    wire: &dyn Wire,
    range: std::ops::Range<usize>,
    lost: &mut Vec<Cause>,
) -> Result<Vec<Arc<Message>>, TurnError> {
    Ok(range.map(|at| wire.message(at, session, lost).map(Arc::new)).collect::<Result<_, _>>()?)
}

/// Looks candidates up under the lock and judges them outside it.
pub(crate) async fn find(
    session: &Session,
    wire: &(dyn Wire + Sync),
    base: Option<NodeId>,
    from: Chain,
    sent: &[Arc<Message>],
) -> Result<Option<Choice>, TurnError> {
    let matching = session.matching();
    let matcher = session.with_forest(|forest| Arc::clone(forest.matcher()));
    let mut chains = Vec::with_capacity(sent.len() + 1);
    chains.push(from);
    chains.extend(sent.iter().scan(from, |chain, message| {
        *chain = chain.then(matcher.key(message));
        Some(*chain)
    }));
    let candidates = session.with_forest(|forest| forest.candidates(base, &chains));
    let chosen = matching.choose(&candidates, sent, wire.parses_arguments()).await;
    chosen.map_err(|problem| TurnError::Matcher { name: matching.name().to_owned(), problem })
}

/// A request whose place was found.
struct Found {
    choice: Choice,
    /// Its tools and template arguments.
    setup: Arc<Setup>,
    /// Its messages after the anchor.
    sent: Vec<Arc<Message>>,
}

fn placed(
    shared: &Shared,
    session: &Session,
    wire: &dyn Wire,
    found: Found,
    lost: &mut Vec<Cause>,
) -> Result<Attached, TurnError> {
    let Found { choice, setup, mut sent } = found;
    lost.extend(choice.respelt.then_some(Cause::Respelt));
    let (plan, in_force) = session.with_forest(|forest| {
        let plan = forest.plan(choice.place, wire.len())?;
        let (Place::After(node) | Place::Again(node)) = choice.place else { return Ok((plan, None)) };
        Ok::<_, Refusal>((plan, forest.setup(node)))
    })?;
    let changed = match in_force {
        Some(in_force) => drifts(shared, &in_force, &setup)?,
        None => false,
    };
    lost.extend(changed.then_some(Cause::ToolsDrifted));
    Ok(Attached { plan, setup: changed.then_some(setup), new: sent.split_off(choice.covered) })
}

/// The request's tools and template arguments, the server's own arguments laid under them.
pub(crate) fn root(shared: &Shared, wire: &dyn Wire, lost: &mut Vec<Cause>) -> Result<Setup, TurnError> {
    let mut setup = wire.setup(lost)?;
    for (name, value) in &shared.settings.template {
        setup.template.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(setup)
}
