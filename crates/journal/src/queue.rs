//! What waits to be written.
//!
//! The invariant: orders are taken in the order in which they were pushed; after a failure each is answered with it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::JournalError;

/// A record that has no number and no place yet.
#[derive(Clone, Debug)]
pub(crate) enum Draft {
    Entry {
        line: Box<str>,
        body: Bytes,
        payloads: Vec<Bytes>,
    },
    Cut {
        line: Box<str>,
    },
    Note {
        name: Box<str>,
        body: Bytes,
    },
    Forget {
        name: Box<str>,
    },
    /// Nothing; it is answered once all before it is kept.
    Mark,
}

impl Draft {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Entry { body, payloads, .. } => body.len() + payloads.iter().map(Bytes::len).sum::<usize>(),
            Self::Note { body, .. } => body.len(),
            Self::Cut { .. } | Self::Forget { .. } | Self::Mark => 0,
        }
    }

    /// At most so many bytes of a segment; `None` of one with payloads.
    fn little(&self) -> Option<usize> {
        match self {
            Self::Entry { payloads, .. } if !payloads.is_empty() => None,
            Self::Entry { line: name, body, .. } | Self::Note { name, body } => {
                Some(ENVELOPE + name.len() + body.len())
            }
            Self::Cut { line: name } | Self::Forget { name } => Some(ENVELOPE + name.len()),
            Self::Mark => Some(0),
        }
    }
}

/// More than a record has around its name and its body.
const ENVELOPE: usize = 128;

/// A record, and who waits for it.
pub(crate) struct Order {
    pub(crate) draft: Draft,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    pub(crate) kept: oneshot::Sender<Result<(), JournalError>>,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    orders: Vec<Order>,
    failure: Option<JournalError>,
    /// The thread is to write.
    woken: bool,
    closed: bool,
}

impl Queue {
    pub(crate) fn push(&self, order: Order) {
        let mut state = self.state();
        let refusal = state.failure.clone().or_else(|| state.closed.then_some(JournalError::Closed));
        match refusal {
            // Whoever does not wait does not hear it.
            Some(refusal) => drop(order.kept.send(Err(refusal))),
            None => state.orders.push(order),
        }
    }

    /// Waits until it is woken; false once nothing will be ordered any more.
    pub(crate) fn wait(&self) -> bool {
        let waits = |state: &mut State| !state.woken && !state.closed;
        let mut state = self.woken.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        state.woken = false;
        !state.closed || !state.orders.is_empty()
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        self.state().woken = true;
        self.woken.notify_one();
    }

    /// Whether nothing is ordered.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().orders.is_empty()
    }

    /// All that is ordered.
    pub(crate) fn take(&self) -> Vec<Order> {
        std::mem::take(&mut self.state().orders)
    }

    /// All that is ordered, if it has room in so many bytes and no payload.
    pub(crate) fn take_little(&self, room: usize) -> Option<Vec<Order>> {
        let mut state = self.state();
        let size = state.orders.iter().map(|order| order.draft.little()).sum::<Option<usize>>()?;
        (size <= room).then(|| std::mem::take(&mut state.orders))
    }

    /// Nothing is written any more.
    pub(crate) fn fail(&self, failure: JournalError) {
        tracing::error!(%failure, "the journal takes nothing any more");
        let mut state = self.state();
        for order in state.orders.drain(..) {
            drop(order.kept.send(Err(failure.clone())));
        }
        state.failure = Some(failure);
    }

    pub(crate) fn failure(&self) -> Option<JournalError> {
        self.state().failure.clone()
    }

    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.woken.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
