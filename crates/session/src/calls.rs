//! A session's recent requests, by their bytes.
//!
//! The invariant: every turn that runs is remembered, and so are the latest that are over; a failed one never is.

use std::sync::Arc;

use verbatim_chat::Key;
use verbatim_dialects::Invalid;
use verbatim_events::NodeId;

use crate::feed::{Events, Feed};
use crate::retry::{Answer, Mark, Standing, answer};

/// Replies that nobody received and that are still remembered.
const UNRECEIVED: usize = 16;
/// Replies that were received and are still remembered: a client may have lost one without our knowing.
const RECEIVED: usize = 2;

/// What a request is told from others by.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// A hash of its route and its body; without one it is never taken for an earlier request.
    pub body: Option<Key>,
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// Whether its client says that it tried before.
    pub again: bool,
}

/// A request and its turn.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) body: Key,
    pub(crate) key: Option<String>,
    /// The reply's id.
    pub(crate) response: String,
    pub(crate) prompt_tokens: usize,
    pub(crate) feed: Arc<Feed>,
}

/// Recent requests, the latest last.
#[derive(Default)]
pub(crate) struct Calls(Vec<Call>);

impl Calls {
    /// The earlier call that answers a request, with a reader of its turn.
    ///
    /// # Errors
    /// [`Invalid`] if the request has the idempotency key of another.
    pub(crate) fn find(&mut self, sent: &Sent) -> Result<Option<(Call, Events)>, Invalid> {
        self.forget();
        let Some(body) = sent.body else { return Ok(None) };
        if let Some(key) = &sent.key
            && self.0.iter().any(|call| call.key.as_ref() == Some(key) && call.body != body)
        {
            let problem = "was sent with another body before; send a new key with every new request";
            return Err(Invalid::new("Idempotency-Key", problem));
        }
        let mark = if sent.again || sent.key.is_some() { Mark::Again } else { Mark::None };
        let same = |call: &&Call| call.body == body && (sent.key.is_none() || call.key == sent.key);
        let standing = |call: &Call| call.feed.standing();
        // The one that most needs an answer, and of several the latest.
        let call = self.0.iter().rev().filter(same).min_by_key(|call| standing(call));
        Ok(call.filter(|call| answer(mark, standing(call)) != Answer::Fresh).map(|call| {
            let events = call.feed.join();
            (call.clone(), events)
        }))
    }

    /// Remembers a call.
    pub(crate) fn put(&mut self, call: Call) {
        self.0.push(call);
    }

    /// Says that the reply at this node has arrived: something follows it.
    pub(crate) fn arrived(&mut self, node: NodeId) {
        self.0.iter().for_each(|call| call.feed.arrived(node));
        self.forget();
    }

    fn forget(&mut self) {
        let (mut unreceived, mut received) = (0, 0);
        let mut kept: Vec<Call> = Vec::with_capacity(self.0.len());
        for call in self.0.drain(..).rev() {
            let keeps = match call.feed.standing() {
                Standing::Failed => false,
                Standing::Abandoned | Standing::Awaited => true,
                Standing::Unreceived => {
                    unreceived += 1;
                    unreceived <= UNRECEIVED
                }
                Standing::Received => {
                    received += 1;
                    received <= RECEIVED
                }
            };
            if keeps {
                kept.push(call);
            }
        }
        kept.reverse();
        self.0 = kept;
    }
}
