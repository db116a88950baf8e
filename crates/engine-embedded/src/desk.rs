//! Where requests are checked and handed to the worker.
//!
//! The invariant: the worker gets only ids that the model can read and that fit its context.

use std::sync::mpsc::Sender;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use verbatim_engine::{EngineError, Score};
use verbatim_tokens::TokenId;

use crate::worker::{Message, Scoring};

/// The way to the worker. It also is the engine's [`Score`]: were the engine itself, its two
/// methods named `score` would be ambiguous.
pub(crate) struct Desk {
    inbox: Sender<Message>,
    context: usize,
    vocabulary: usize,
}

impl Desk {
    pub(crate) fn new(inbox: Sender<Message>, context: usize, vocabulary: usize) -> Self {
        Self { inbox, context, vocabulary }
    }

    /// Hands a message over.
    pub(crate) fn tell(&self, message: Message) -> Result<(), EngineError> {
        self.inbox.send(message).map_err(|_| gone())
    }

    /// Refuses ids that the model cannot read, or that leave no `room` for more.
    pub(crate) fn fits(&self, ids: &[TokenId], room: usize) -> Result<(), EngineError> {
        if ids.is_empty() {
            let message = "there are no ids to read; send at least one".to_owned();
            return Err(EngineError::Refused { message });
        }
        if ids.len() + room > self.context {
            return Err(EngineError::Context { prompt: ids.len(), context: self.context });
        }
        match ids.iter().find(|id| id.0 as usize >= self.vocabulary) {
            Some(id) => Err(EngineError::Vocabulary { id: *id, vocabulary: self.vocabulary }),
            None => Ok(()),
        }
    }
}

/// The error of a worker that does not answer.
pub(crate) fn gone() -> EngineError {
    EngineError::Broken { reason: "the embedded engine's worker is gone; load the model again".to_owned() }
}

impl Score for Desk {
    fn score(&self, ids: Vec<TokenId>, _from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        Box::pin(async {
            self.fits(&ids, 0)?;
            let (reply, scored) = oneshot::channel();
            self.tell(Message::Score(Scoring { ids, reply }))?;
            scored.await.map_err(|_| gone())?
        })
    }
}
