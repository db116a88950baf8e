//! From a forest to rows: one linear pass a row.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_chat::ImageSpan;
use verbatim_events::{Cause, Event, Finish, GroupId, NodeId, Observers, SessionId};
use verbatim_forest::{Forest, Generation, Segment};
use verbatim_tokens::{LogprobKind, MaskCause, Replay, Runs};

use crate::spans::Spans;
use crate::{CacheUse, Pick, Row, RowError, Status, Turn};

/// What rows are made with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which leaves.
    pub pick: Pick,
    /// These leaves instead, in whatever order; what is no leaf of the session is passed over.
    pub leaves: Option<Vec<NodeId>>,
    /// These lineages instead, one row each, in their order: what the agent exported by name.
    pub contexts: Option<Vec<Context>>,
    /// No row is longer than this many tokens.
    pub max_seq_len: Option<usize>,
    /// Rewards.
    pub rewards: Rewards,
    /// Data that every row carries.
    pub metadata: Map<String, Value>,
}

/// A lineage that the agent exported by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// Its last turn.
    pub end: NodeId,
    /// Its name, unique in the session.
    pub name: String,
    /// Its reward, if it has its own.
    pub reward: Option<f64>,
    /// Its data, laid over that of every row.
    pub metadata: Map<String, Value>,
}

/// Where rewards are known: for the session, for the row that ends in a certain reply, for single turns.
#[derive(Clone, Debug, Default)]
pub struct Rewards {
    /// For every row that has none of its own.
    pub session: Option<f64>,
    /// By the id of the row's last reply.
    pub by_response: HashMap<String, f64>,
    /// Of single turns, by the id of their reply.
    pub by_turn: HashMap<String, f64>,
}

/// All rows of a session.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// The rows, in the order in which their leaves were committed, or in that of the exported contexts.
    pub rows: Vec<Row>,
    /// Sampled tokens that train in no row, each once.
    pub unowned: Vec<Unowned>,
    /// Why there is no row, if there is none.
    pub empty: Option<EmptyReason>,
}

/// Sampled tokens of one turn that train in no row, for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unowned {
    /// The turn.
    pub node: NodeId,
    /// How many of its tokens.
    pub tokens: usize,
    /// Why.
    pub cause: Cause,
}

/// Why a session yields no row, in Miles' words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// No turn was committed.
    NoRecords,
    /// No sampled token lies within the length limit.
    AllTruncated,
}

impl Assembly {
    /// Everything lost on the way from forest to rows, each with its number of tokens. A row's
    /// observations are masked, but nothing of them is lost.
    pub fn losses(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        let shared =
            self.rows.iter().flat_map(|row| row.mask.iter()).filter_map(|(mask, count)| match mask {
                Some(mask @ MaskCause::SharedOwner) => Some((Cause::Masked { mask: *mask }, count as u64)),
                _ => None,
            });
        self.unowned.iter().map(|unowned| (unowned.cause.clone(), unowned.tokens as u64)).chain(shared)
    }

    /// Tells the losses.
    pub fn tell(&self, session: &SessionId, observers: &Observers) {
        for (cause, count) in self.losses() {
            observers.tell(&Event::Lost { session: session.clone(), cause, count });
        }
    }
}

/// Makes the rows of a session.
///
/// A span that lies on several picked lineages is owned by the first of them.
///
/// # Errors
/// [`RowError::MixedLogprobs`].
pub fn assemble(
    forest: &Forest,
    session: &SessionId,
    group: Option<&GroupId>,
    options: &Options,
) -> Result<Assembly, RowError> {
    let ends: Vec<(NodeId, Option<&Context>)> = match (&options.contexts, &options.leaves) {
        (Some(contexts), _) => contexts.iter().map(|context| (context.end, Some(context))).collect(),
        (None, Some(picked)) => {
            let leaves = Pick::All.leaves(forest).into_iter();
            leaves.filter(|leaf| picked.contains(leaf)).map(|leaf| (leaf, None)).collect()
        }
        (None, None) => options.pick.leaves(forest).into_iter().map(|leaf| (leaf, None)).collect(),
    };
    if forest.head().is_none() {
        return Ok(Assembly { empty: Some(EmptyReason::NoRecords), ..Assembly::default() });
    }
    let mut spans = Spans::of(forest);
    let mut rows = Vec::new();
    for (leaf, context) in ends {
        let path = forest.path(leaf);
        let Some(mut row) = Builder::new(&path, options.max_seq_len, &mut spans).build()? else { continue };
        row.session = session.clone();
        row.group = group.cloned();
        row.leaf = leaf;
        let reply = row.turns.last().map(|turn| turn.response.as_str());
        let own = reply.and_then(|reply| options.rewards.by_response.get(reply)).copied();
        row.reward = context.and_then(|context| context.reward).or(own).or(options.rewards.session);
        row.metadata = options.metadata.clone();
        if let Some(context) = context {
            row.name = Some(context.name.clone());
            row.metadata.extend(context.metadata.clone());
        }
        for turn in &mut row.turns {
            turn.reward = options.rewards.by_turn.get(&turn.response).copied();
        }
        rows.push(row);
    }
    let weight = 1.0 / rows.len().max(1) as f64;
    rows.iter_mut().for_each(|row| row.weight = weight);
    let absent = if options.contexts.is_some() { &Cause::NotExported } else { &Cause::Superseded };
    let empty = rows.is_empty().then_some(EmptyReason::AllTruncated);
    Ok(Assembly { rows, unowned: spans.unowned(forest, absent), empty })
}

/// One row in the making.
struct Builder<'a> {
    path: &'a [Segment<'a>],
    limit: usize,
    /// What earlier rows own, and from now on this one.
    spans: &'a mut Spans,
    row: Row,
    kind: Option<LogprobKind>,
    /// The replay payloads of the turns so far, in order.
    experts: Vec<Replay>,
    indexer: Vec<Replay>,
}

impl<'a> Builder<'a> {
    fn new(path: &'a [Segment<'a>], limit: Option<usize>, spans: &'a mut Spans) -> Self {
        let length = path.iter().map(|segment| segment.kept).sum();
        let row = Row {
            session: SessionId::new(""),
            group: None,
            group_index: None,
            sample_index: None,
            leaf: NodeId(0),
            name: None,
            tokens: Vec::with_capacity(length),
            prompt_length: 0,
            mask: Runs::default(),
            logprobs: Vec::with_capacity(length),
            logprob_kind: LogprobKind::Raw,
            versions: Runs::default(),
            experts: None,
            indexer: None,
            images: Vec::new(),
            turns: Vec::new(),
            status: Status::Completed,
            reward: None,
            advantages: None,
            weight: 1.0,
            cache: CacheUse::default(),
            speculation: None,
            metadata: Map::new(),
        };
        Self {
            path,
            limit: limit.unwrap_or(usize::MAX),
            spans,
            row,
            kind: None,
            experts: Vec::new(),
            indexer: Vec::new(),
        }
    }

    /// The row; `None` if no sampled token lies within the limit.
    fn build(mut self) -> Result<Option<Row>, RowError> {
        let (mut whole, mut observed) = (0, 0);
        for (at, segment) in self.path.iter().enumerate() {
            let start = whole;
            whole += segment.kept;
            // An observation counts only once a sampled token follows it within the limit.
            let Some(generation) = segment.node.generation() else { continue };
            let held = segment.kept.min(self.limit.saturating_sub(start));
            let owner = self.spans.pass(segment, held);
            if start <= self.limit {
                // Also of a turn whose tokens were all replaced: what it read may have been told by it alone.
                // Of a token that the next turn's opener replaced the rows are another token's.
                let own = |told: &Option<Arc<Replay>>| told.as_ref().map(|told| told.until(whole));
                self.experts.extend(own(&generation.experts));
                self.indexer.extend(own(&generation.indexer));
            }
            if held > 0 {
                self.observe(&self.path[observed..at], start);
                self.turn(segment, generation, start, held, owner)?;
                observed = at + 1;
            }
        }
        if self.row.turns.is_empty() {
            return Ok(None);
        }
        if self.row.tokens.len() < whole {
            self.row.status = Status::Truncated;
        }
        let forwarded = self.row.tokens.len() - 1;
        self.row.experts = joined(&self.experts, forwarded);
        self.row.indexer = joined(&self.indexer, forwarded);
        Ok(Some(self.row))
    }

    /// Appends the first `held` tokens of a turn.
    fn turn(
        &mut self,
        segment: &Segment<'_>,
        generation: &Generation,
        start: usize,
        held: usize,
        owner: bool,
    ) -> Result<(), RowError> {
        let sampled = &generation.sampled;
        match self.kind {
            Some(first) if first != sampled.kind() => {
                return Err(RowError::MixedLogprobs { first, second: sampled.kind() });
            }
            _ => self.kind = Some(sampled.kind()),
        }
        self.row.logprob_kind = sampled.kind();
        for at in 0..held {
            let logprob = sampled.logprobs().get(at);
            let mask = match (owner, logprob) {
                (false, _) => Some(MaskCause::SharedOwner),
                (true, None) => Some(MaskCause::NoLogprob),
                (true, Some(_)) => None,
            };
            self.row.mask.extend(mask, 1);
            self.row.logprobs.push(logprob);
        }
        self.row.tokens.extend_from_slice(&segment.ids()[..held]);
        let mut left = held;
        for (version, count) in sampled.versions().iter() {
            self.row.versions.extend(version.clone(), count.min(left));
            left -= count.min(left);
        }
        if self.row.turns.is_empty() {
            self.row.prompt_length = start;
        }
        if let Some(more) = generation.speculation {
            *self.row.speculation.get_or_insert_default() += more;
        }
        self.row.cache.total_prompt_tokens += start;
        self.row.cache.cached_tokens += generation.cached_tokens.unwrap_or_default() as usize;
        self.row.turns.push(Turn {
            node: segment.id,
            start,
            end: start + held,
            finish: generation.finish,
            temperature: generation.temperature,
            response: generation.response.clone(),
            at: generation.at,
            reward: None,
        });
        self.row.status = match generation.finish {
            Finish::Stop => Status::Completed,
            Finish::Length => Status::Truncated,
        };
        Ok(())
    }

    /// Appends what was observed before a turn that begins at `until`.
    fn observe(&mut self, segments: &[Segment<'_>], until: usize) {
        for segment in segments {
            let before = self.row.tokens.len();
            let placed = |image: ImageSpan| ImageSpan { place: image.place.after(before), ..image };
            self.row.images.extend(segment.images().map(placed));
            self.row.tokens.extend_from_slice(segment.ids());
        }
        self.row.mask.extend(Some(MaskCause::Observation), until - self.row.logprobs.len());
        self.row.versions.extend(None, until - self.row.logprobs.len());
        self.row.logprobs.resize(until, None);
    }
}

/// The rows of all forwarded tokens, if every one was told.
fn joined(told: &[Replay], forwarded: usize) -> Option<Replay> {
    let joined = Replay::overlay(&told.iter().collect::<Vec<_>>(), 0).ok()?;
    (joined.end() >= forwarded).then(|| joined.until(forwarded))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use verbatim_events::Observer;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<Event>>);

    impl Observer for Told {
        fn observe(&self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn every_loss_is_told_with_its_session_and_its_tokens() {
        let told = Arc::new(Told::default());
        let unowned = [(1, 3, Cause::CallOpen), (2, 5, Cause::ReasoningOpen)];
        let unowned = unowned.map(|(node, tokens, cause)| Unowned { node: NodeId(node), tokens, cause });
        let assembly = Assembly { unowned: unowned.into(), ..Assembly::default() };
        let session = SessionId::new("s");
        assembly.tell(&session, &Observers::new([Arc::clone(&told) as Arc<dyn Observer>]));
        let lost = |cause, count| Event::Lost { session: session.clone(), cause, count };
        let expected = [lost(Cause::CallOpen, 3), lost(Cause::ReasoningOpen, 5)];
        assert_eq!(*told.0.lock().unwrap(), expected);
    }
}
