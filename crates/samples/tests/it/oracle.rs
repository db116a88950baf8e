//! Rows derived by reading a grove's record from front to back, token by token.

use std::collections::{BTreeMap, HashMap};

use verbatim_events::{Cause, Finish, NodeId};
use verbatim_samples::{CacheUse, Pick, Status, Turn};
use verbatim_tokens::{MaskCause, Version};

use crate::grove::{Grove, route};

/// A token of a context: its id and, if it was sampled, the turn and its place there.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) id: u32,
    pub(crate) from: Option<(usize, usize)>,
}

/// What a row must be.
pub(crate) struct Expected {
    pub(crate) leaf: NodeId,
    pub(crate) ids: Vec<u32>,
    pub(crate) mask: Vec<Option<MaskCause>>,
    pub(crate) logprobs: Vec<Option<f32>>,
    pub(crate) versions: Vec<Option<Version>>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) status: Status,
    pub(crate) cache: CacheUse,
    /// The routes of every token but the last, if each was told by a turn that begins within the limit.
    pub(crate) routes: Option<Vec<u8>>,
}

/// The turns from the root to one of them.
pub(crate) fn line(grove: &Grove, end: usize) -> Vec<usize> {
    let mut line: Vec<_> = std::iter::successors(Some(end), |turn| grove.turns[*turn].parent).collect();
    line.reverse();
    line
}

/// What the engine had before it when a turn ended.
pub(crate) fn context(grove: &Grove, end: usize) -> Vec<Seen> {
    let mut context = Vec::new();
    for turn in line(grove, end) {
        let opener = &grove.turns[grove.turns[turn].seen_in];
        context.truncate(context.len() - opener.trim);
        context.extend(opener.seen.iter().map(|id| Seen { id: *id, from: None }));
        let said = grove.turns[turn].said.iter().enumerate();
        context.extend(said.map(|(at, token)| Seen { id: token.id, from: Some((turn, at)) }));
    }
    context
}

/// The turns that end a picked lineage.
pub(crate) fn picked(grove: &Grove, pick: Pick) -> Vec<usize> {
    let turns = 0..grove.turns.len();
    let is_parent = |turn: usize| grove.turns.iter().any(|other| other.parent == Some(turn));
    let replaced = |turn: usize| {
        let parent = grove.turns[turn].parent;
        parent.is_some() && grove.turns[turn + 1..].iter().any(|later| later.parent == parent)
    };
    turns.filter(|turn| !is_parent(*turn) && (pick == Pick::All || !replaced(*turn))).collect()
}

pub(crate) fn rows(grove: &Grove, leaves: &[usize], limit: usize) -> Vec<Expected> {
    let mut owners: HashMap<usize, usize> = HashMap::new();
    leaves.iter().filter_map(|leaf| row(grove, *leaf, limit, &mut owners)).collect()
}

fn row(grove: &Grove, leaf: usize, limit: usize, owners: &mut HashMap<usize, usize>) -> Option<Expected> {
    let whole = context(grove, leaf);
    let within = &whole[..limit.min(whole.len())];
    let kept = &within[..=within.iter().rposition(|seen| seen.from.is_some())?];
    let sampled = |seen: &Seen| seen.from.map(|(turn, at)| &grove.turns[turn].said[at]);
    let mask = |seen: &Seen| match seen.from {
        None => Some(MaskCause::Observation),
        Some((turn, _)) if *owners.entry(turn).or_insert(leaf) != leaf => Some(MaskCause::SharedOwner),
        Some(_) if sampled(seen)?.logprob.is_none() => Some(MaskCause::NoLogprob),
        Some(_) => None,
    };
    let mask = kept.iter().map(mask).collect();
    let (mut turns, mut cache) = (Vec::new(), CacheUse::default());
    for turn in line(grove, leaf) {
        let is = |seen: &Seen| seen.from.is_some_and(|(of, _)| of == turn);
        let Some(start) = kept.iter().position(is) else { continue };
        let end = start + kept.iter().filter(|seen| is(seen)).count();
        let record = &grove.turns[turn];
        let (node, finish, response, at) =
            (record.node, record.end.finish, format!("r{turn}"), 1000 + turn as u64);
        turns.push(Turn { node, start, end, finish, temperature: 1.0, response, at, reward: None });
        cache.total_prompt_tokens += start;
        cache.cached_tokens += record.end.cached.unwrap_or(0) as usize;
    }
    let cut = kept.len() < whole.len() || turns.last()?.finish == Finish::Length;
    Some(Expected {
        leaf: grove.turns[leaf].node,
        ids: kept.iter().map(|seen| seen.id).collect(),
        mask,
        logprobs: kept.iter().map(|seen| sampled(seen)?.logprob).collect(),
        versions: kept.iter().map(|seen| sampled(seen)?.version.clone()).collect(),
        turns,
        status: if cut { Status::Truncated } else { Status::Completed },
        cache,
        routes: routes(grove, kept, leaf, limit),
    })
}

fn routes(grove: &Grove, kept: &[Seen], leaf: usize, limit: usize) -> Option<Vec<u8>> {
    let last = kept.len() - 1;
    let begins = |turn: usize| context(grove, turn).len() - grove.turns[turn].said.len();
    let mut told = vec![false; last];
    for turn in line(grove, leaf).into_iter().filter(|turn| begins(*turn) <= limit) {
        let generation = grove.forest.node(grove.turns[turn].node).unwrap().generation().unwrap();
        let Some(payload) = &generation.experts else { continue };
        // No two tokens have the same id: what was told of another token is not told.
        let read = context(grove, turn);
        let rows = (payload.start()..payload.end().min(last)).filter(|at| read[*at].id == kept[*at].id);
        rows.for_each(|at| told[at] = true);
    }
    told.iter().all(|told| *told).then(|| (0..last).flat_map(|at| route(at, kept[at].id)).collect())
}

/// Why each sampled token trains nowhere, if it does not, counted by turn and cause.
pub(crate) fn unowned(grove: &Grove, leaves: &[usize], limit: usize) -> BTreeMap<(NodeId, Cause), usize> {
    let mut lost = BTreeMap::new();
    for (turn, record) in grove.turns.iter().enumerate() {
        let lines: Vec<_> = leaves.iter().filter(|leaf| line(grove, **leaf).contains(&turn)).collect();
        // The lineage that answers for the span is the first that has any of it.
        let position =
            |leaf: usize, at| context(grove, leaf).iter().position(|seen| seen.from == Some((turn, at)));
        let owner = lines.iter().find(|leaf| position(***leaf, 0).is_some());
        for (at, token) in record.said.iter().enumerate() {
            let cause = match owner.map(|leaf| position(**leaf, at)) {
                None if lines.is_empty() => Cause::Superseded,
                None | Some(None) => Cause::Masked { mask: MaskCause::Trimmed },
                Some(Some(place)) if place >= limit => Cause::Masked { mask: MaskCause::Truncated },
                Some(Some(_)) if token.logprob.is_none() => Cause::Masked { mask: MaskCause::NoLogprob },
                Some(Some(_)) => continue,
            };
            *lost.entry((record.node, cause)).or_default() += 1;
        }
    }
    lost
}
