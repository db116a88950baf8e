//! The moment a turn comes to exist.

use std::sync::Arc;

use verbatim_chat::Chain;
use verbatim_events::{Cause, Event, NodeId, TurnCommitted};
use verbatim_families::Flaw;
use verbatim_forest::{Place, Plan};

use crate::sessions::Shared;
use crate::{Session, TurnError};

/// Commits a turn: checks that its plan still holds, applies its event, tells the observers.
/// Returns the generation's node.
pub(crate) fn commit(
    shared: &Shared,
    session: &Session,
    plan: Plan,
    bytes: Chain,
    turn: &Arc<TurnCommitted>,
    mut lost: Vec<Cause>,
) -> Result<NodeId, TurnError> {
    let applied = {
        let mut state = session.state();
        if session.closing.is_cancelled() {
            return Err(TurnError::Closed);
        }
        state.forest.check(&plan)?;
        let branches = match plan.place {
            Place::Root => false,
            Place::After(node) | Place::Again(node) => state.forest.is_followed(node),
        };
        let applied = state.forest.apply(turn)?;
        state.anchors.insert(bytes, applied.observation);
        match plan.drops {
            0 if branches => lost.push(Cause::Forked),
            turns => lost.extend(std::iter::repeat_n(Cause::RolledBack, turns)),
        }
        applied
    };
    shared.observers.tell(&Event::TurnCommitted(Arc::clone(turn)));
    lost.into_iter().for_each(|cause| shared.observers.lost(session.id(), cause));
    Ok(applied.generation)
}

/// What a flaw of a parsed turn is as a loss.
pub(crate) fn flaw(flaw: Flaw) -> Cause {
    match flaw {
        Flaw::ReasoningOpen => Cause::ReasoningOpen,
        Flaw::CallOpen => Cause::CallOpen,
        Flaw::CallMalformed => Cause::CallMalformed,
    }
}
