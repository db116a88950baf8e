//! What happens in a turn, told to everyone who waits for it.
//!
//! The invariants: every reader is told everything from the beginning and in order, whenever it came; the turn knows
//! since when nobody has waited; and once nobody reads a turn that is over, its increments are forgotten.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use verbatim_events::NodeId;
use verbatim_families::Part;

use crate::retry::Standing;
use crate::unread::parts_of;
use crate::{Committed, SampledToken, TurnError, TurnEvent};

/// A turn's events, shared by the turn and its readers.
pub(crate) struct Feed {
    state: Mutex<State>,
    /// Something was told, or somebody came or left.
    changed: Notify,
}

struct State {
    events: Vec<TurnEvent>,
    outcome: Option<Outcome>,
    readers: usize,
    /// When the last reader left; now, if none has come yet.
    alone: Instant,
    received: bool,
}

enum Outcome {
    Committed(Box<Committed>),
    Failed(TurnError),
}

/// One who waits for a turn. Dropping it says that nobody is there any more; [`Events::received`] that the reply has
/// arrived.
pub struct Events {
    feed: Arc<Feed>,
    /// What is told before anything new: a reply that was recorded.
    recorded: VecDeque<TurnEvent>,
    next: usize,
}

impl Feed {
    /// Nothing was told, and nobody waits.
    pub(crate) fn new() -> Arc<Self> {
        let (events, outcome) = (Vec::new(), None);
        let state = State { events, outcome, readers: 0, alone: Instant::now(), received: false };
        Arc::new(Self { state: Mutex::new(state), changed: Notify::new() })
    }

    /// A turn that was committed before, of which nobody knows whether its reply was received.
    pub(crate) fn over(committed: Committed) -> Arc<Self> {
        let feed = Self::new();
        feed.end(Ok(committed));
        feed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the reply of this turn has arrived, if this is its node.
    pub(crate) fn arrived(&self, node: NodeId) {
        let mut state = self.state();
        if matches!(&state.outcome, Some(Outcome::Committed(committed)) if committed.node == node) {
            state.received = true;
        }
    }

    /// Tells more of the turn.
    pub(crate) fn tell(&self, parts: Vec<Part>, tokens: Vec<SampledToken>) {
        self.state().events.push(TurnEvent::Delta { parts, tokens });
        self.changed.notify_waiters();
    }

    /// Tells how the turn ended; the first end counts.
    pub(crate) fn end(&self, end: Result<Committed, TurnError>) {
        let mut state = self.state();
        if state.outcome.is_none() {
            state.outcome = Some(match end {
                Ok(committed) => Outcome::Committed(Box::new(committed)),
                Err(error) => Outcome::Failed(error),
            });
        }
        if state.readers == 0 {
            state.events = Vec::new();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// How it stands with the turn.
    pub(crate) fn standing(&self) -> Standing {
        let state = self.state();
        match (&state.outcome, state.readers > 0) {
            (None, false) => Standing::Abandoned,
            (None, true) => Standing::Awaited,
            (Some(Outcome::Failed(_)), _) => Standing::Failed,
            (Some(Outcome::Committed(_)), reads) if reads || state.received => Standing::Received,
            (Some(Outcome::Committed(_)), _) => Standing::Unreceived,
        }
    }

    /// Another reader, who is told everything.
    pub(crate) fn join(self: &Arc<Self>) -> Events {
        let mut state = self.state();
        let mut recorded = VecDeque::new();
        if let (Some(Outcome::Committed(committed)), 0) = (&state.outcome, state.readers) {
            recorded.push_back(record(committed));
        }
        state.readers += 1;
        drop(state);
        self.changed.notify_waiters();
        Events { feed: Arc::clone(self), recorded, next: 0 }
    }

    /// Waits until nobody has waited for the turn for as long as `grace`.
    pub(crate) async fn abandoned(&self, grace: Duration) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (readers, alone) = {
                let state = self.state();
                (state.readers, state.alone)
            };
            if readers > 0 {
                changed.await;
                continue;
            }
            let left = grace.saturating_sub(alone.elapsed());
            if left.is_zero() {
                return;
            }
            let _ = tokio::time::timeout(left, changed).await;
        }
    }

    /// Waits until somebody waits for the turn.
    pub(crate) async fn awaited(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.state().readers > 0 {
                return;
            }
            changed.await;
        }
    }
}

/// A committed turn as one increment.
fn record(committed: &Committed) -> TurnEvent {
    let generated = &committed.turn.generated;
    let sampled = &generated.sampled;
    let tokens = sampled.ids().iter().enumerate().map(|(at, id)| SampledToken {
        id: *id,
        logprob: sampled.logprobs().get(at),
        top: Vec::new(),
    });
    TurnEvent::Delta { parts: parts_of(&generated.message), tokens: tokens.collect() }
}

impl Events {
    /// What happens next; [`TurnEvent::Committed`] or [`TurnEvent::Failed`] is the last, and `None` follows it.
    pub async fn recv(&mut self) -> Option<TurnEvent> {
        if let Some(event) = self.recorded.pop_front() {
            return Some(event);
        }
        loop {
            let changed = self.feed.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = self.feed.state();
                if let Some(event) = state.events.get(self.next) {
                    self.next += 1;
                    return Some(event.clone());
                }
                match &state.outcome {
                    Some(_) if self.next > state.events.len() => return None,
                    Some(Outcome::Committed(committed)) => {
                        self.next = usize::MAX;
                        return Some(TurnEvent::Committed(committed.clone()));
                    }
                    Some(Outcome::Failed(error)) => {
                        self.next = usize::MAX;
                        return Some(TurnEvent::Failed(error.clone()));
                    }
                    None => {}
                }
            }
            changed.await;
        }
    }

    /// Says that the reply was handed over whole: a request like it is another one from now on.
    pub fn received(self) {
        self.feed.state().received = true;
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.feed.state();
        state.readers -= 1;
        if state.readers == 0 {
            state.alone = Instant::now();
            if state.outcome.is_some() {
                state.events = Vec::new();
            }
        }
        drop(state);
        self.feed.changed.notify_waiters();
    }
}
