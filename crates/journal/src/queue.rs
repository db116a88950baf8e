//! What waits to be written.
//!
//! The invariant: orders are taken in the order in which they were pushed; after a failure each is answered with it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
}

/// A record, and who waits for it.
pub(crate) struct Order {
    pub(crate) draft: Draft,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    pub(crate) kept: oneshot::Sender<Result<(), JournalError>>,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    orders: Vec<Order>,
    failure: Option<JournalError>,
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
        // Of all that waits the first wakes the writer, or finds it at work.
        let is_first = state.orders.len() == 1;
        drop(state);
        if is_first {
            self.pushed.notify_one();
        }
    }

    /// All that waits, once something does and then `gather` has passed; `None` when nothing will any more.
    pub(crate) fn take(&self, gather: Duration) -> Option<Vec<Order>> {
        let mut state = self.waits();
        if !gather.is_zero() && !state.closed {
            drop(state);
            std::thread::sleep(gather);
            state = self.waits();
        }
        let orders = std::mem::take(&mut state.orders);
        (!orders.is_empty()).then_some(orders)
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
        self.pushed.notify_one();
    }

    fn waits(&self) -> MutexGuard<'_, State> {
        self.pushed
            .wait_while(self.state(), |state| state.orders.is_empty() && !state.closed)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
