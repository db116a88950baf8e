//! Where a request belongs and what the engine must read, found the slow way.

use std::sync::Arc;

use verbatim_chat::{Message, Verdict};
use verbatim_events::NodeId;
use verbatim_forest::{Choice, Place};
use verbatim_tokens::TokenId;

use crate::world::{Heard, World};

/// The least agreement between the stored and the sent messages of a path.
pub(crate) fn agreement(world: &World, node: NodeId, request: &[Arc<Message>]) -> Verdict {
    let stored = world.forest.messages(node);
    let matcher = world.forest.matcher();
    stored
        .iter()
        .zip(request)
        .map(|(stored, sent)| matcher.judge(stored, sent))
        .min()
        .unwrap_or(Verdict::Exact)
}

/// Judges every node of the forest: the one that covers most, then the best spelling, then the latest.
pub(crate) fn place(world: &World, request: &[Arc<Message>]) -> Option<Choice> {
    let candidate = |id: NodeId| {
        let covered = world.forest.messages(id).len();
        let place = match world.forest.node(id)?.generation() {
            Some(_) => Place::After(id),
            None if covered == request.len() => Place::Again(id),
            None => return None,
        };
        let verdict = agreement(world, id, request);
        let same_root = *world.forest.setup(id)? == world.setup;
        (same_root && covered <= request.len() && verdict != Verdict::Different)
            .then_some(((covered, verdict, id), place))
    };
    let (rank, place) =
        world.forest.nodes().filter_map(|(id, _)| candidate(id)).max_by_key(|(rank, _)| *rank)?;
    Some(Choice { place, covered: rank.0, respelt: rank.1 == Verdict::Equivalent })
}

/// The prompt that follows from what the engine heard before, without asking the forest for ids.
pub(crate) fn prompt(world: &World, choice: Option<Choice>, request: &[Arc<Message>]) -> Vec<TokenId> {
    let heard = |is: &dyn Fn(&Heard) -> bool| world.heard.iter().find(|heard| is(heard)).unwrap();
    let new = request[choice.map_or(0, |choice| choice.covered)..].iter().map(AsRef::as_ref);
    match choice.map_or(Place::Root, |choice| choice.place) {
        Place::Root => world.family.open(&world.setup, new),
        Place::Again(node) => heard(&|heard| heard.nodes.observation == node).prompt.clone(),
        Place::After(node) => {
            let before = heard(&|heard| heard.nodes.generation == node);
            let extension = world.family.extend(&before.sampled, new);
            let mut ids = [&before.prompt[..], &before.sampled[..]].concat();
            ids.truncate(ids.len() - extension.trim);
            [ids, extension.ids].concat()
        }
    }
}

/// How many turns of a linear session's line lie beyond the place.
pub(crate) fn discard(world: &World, choice: Option<Choice>) -> usize {
    let path = |end: NodeId| world.forest.path(end).into_iter().map(|segment| segment.id).collect::<Vec<_>>();
    let kept = match choice.map_or(Place::Root, |choice| choice.place) {
        Place::Root => Vec::new(),
        Place::After(node) | Place::Again(node) => path(node),
    };
    let line = world.forest.head().map(path).unwrap_or_default();
    let turns = line.iter().filter(|id| world.forest.node(**id).unwrap().generation().is_some());
    turns.filter(|id| !kept.contains(id)).count()
}
