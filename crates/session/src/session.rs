//! One session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use verbatim_chat::{Chain, Message};
use verbatim_dialects::{Recall, Sampling};
use verbatim_events::{GroupId, NodeId, SessionId};
use verbatim_forest::Forest;
use verbatim_scheduler::SessionId as Seat;

use crate::calls::Calls;
use crate::{Matching, OpenOptions};

/// One agent's episode: its forest, and what is in flight.
pub struct Session {
    id: SessionId,
    group: Option<GroupId>,
    lora: OnceLock<Arc<str>>,
    seat: Option<Seat>,
    pins: Option<Arc<Sampling>>,
    matching: Matching,
    owned: bool,
    opened: i64,
    used: Mutex<Instant>,
    state: Mutex<State>,
    assembled: AtomicBool,
    calls: Mutex<Calls>,
    /// Cancelled when the session closes.
    pub(crate) closing: CancellationToken,
    /// Turns in flight.
    pub(crate) turns: TaskTracker,
}

/// What turns change.
pub(crate) struct State {
    pub(crate) forest: Forest,
    /// Observations by the bytes of the request that led to them: equal bytes need no parsing.
    pub(crate) anchors: HashMap<Chain, NodeId>,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        options: OpenOptions,
        matching: Matching,
        opened: i64,
        forest: Forest,
    ) -> Self {
        Self {
            id,
            group: options.group,
            lora: options.lora.map_or_else(OnceLock::new, OnceLock::from),
            seat: options.seat,
            pins: options.pins,
            matching,
            owned: options.owned,
            opened,
            used: Mutex::new(Instant::now()),
            state: Mutex::new(State { forest, anchors: HashMap::new() }),
            assembled: AtomicBool::new(false),
            calls: Mutex::default(),
            closing: CancellationToken::new(),
            turns: TaskTracker::new(),
        }
    }

    /// Its public name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The group it belongs to.
    pub fn group(&self) -> Option<&GroupId> {
        self.group.as_ref()
    }

    /// The adapter that it is sampled with; `None` is the base model, or that its first turn is to come.
    pub fn lora(&self) -> Option<&Arc<str>> {
        self.lora.get()
    }

    /// Binds it to an adapter, for good.
    pub(crate) fn bind(&self, adapter: &Arc<str>) {
        self.lora.get_or_init(|| Arc::clone(adapter));
    }

    /// Its place in a Group that the scheduler knows.
    pub fn seat(&self) -> Option<Seat> {
        self.seat
    }

    /// What its turns are sampled with, if that is pinned for it alone.
    pub(crate) fn pins(&self) -> Option<&Sampling> {
        self.pins.as_deref()
    }

    /// Who says which replayed messages are the same.
    pub fn matching(&self) -> &Matching {
        &self.matching
    }

    /// Whether its agent is this process's and ends with it.
    pub(crate) fn is_owned(&self) -> bool {
        self.owned
    }

    /// Says how long ago it was used last.
    pub(crate) fn used(&self, ago: Duration) {
        let now = Instant::now();
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = now.checked_sub(ago).unwrap_or(now);
    }

    /// Says that it is in use.
    pub(crate) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long nobody has used it; nothing while a turn is in flight.
    pub(crate) fn idle(&self) -> Duration {
        if self.turns.is_empty() {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
        } else {
            Duration::ZERO
        }
    }

    /// When it was opened, in seconds since the Unix epoch.
    pub fn opened(&self) -> i64 {
        self.opened
    }

    /// Reads the forest. The lock is held while `read` runs: it must be short.
    pub fn with_forest<T>(&self, read: impl FnOnce(&Forest) -> T) -> T {
        read(&self.state().forest)
    }

    /// Whether this is the first time that its rows are made: what was lost on the way is reported
    /// once.
    pub fn first_assembly(&self) -> bool {
        !self.assembled.swap(true, Ordering::Relaxed)
    }

    /// Recent requests.
    pub(crate) fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state. A panic under the lock leaves the forest whole, because it only ever appends.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses further turns, aborts those in flight and waits until they are gone.
    pub(crate) async fn close(self: &Arc<Self>) {
        self.closing.cancel();
        self.turns.close();
        self.turns.wait().await;
    }
}

impl Recall for Session {
    fn reply(&self, digits: &str) -> Option<Arc<Message>> {
        // Less than all of them would name the latest reply that happens to end so.
        if digits.len() != crate::turn::DIGITS {
            return None;
        }
        self.with_forest(|forest| {
            let generations = forest.nodes().rev().filter_map(|(_, node)| node.generation());
            let mut named = generations.filter(|turn| turn.response.ends_with(digits));
            named.next().map(|turn| Arc::clone(&turn.message))
        })
    }
}
