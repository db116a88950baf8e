//! What the engine asks of its worker.

use tokio::sync::{mpsc, oneshot};
use verbatim_engine::{AttemptId, EngineError, Params, Piece, Prompt};
use verbatim_tokens::TokenId;

use crate::model::Model;

/// One attempt.
pub(crate) struct Generation {
    pub(crate) id: AttemptId,
    pub(crate) prompt: Prompt,
    pub(crate) params: Params,
    pub(crate) pieces: mpsc::UnboundedSender<Piece>,
}

/// One scoring.
pub(crate) struct Scoring {
    pub(crate) ids: Vec<TokenId>,
    pub(crate) reply: oneshot::Sender<Result<Vec<Option<f32>>, EngineError>>,
}

/// Everything a worker is told.
pub(crate) enum Message {
    Generate(Box<Generation>),
    Score(Scoring),
    Abort(AttemptId),
    /// Drop every cached prefix; answered when done.
    Flush(oneshot::Sender<()>),
    /// Compute with other weights of the same shapes from the next step on, and abort what runs; answered when they
    /// are there.
    Weights(Box<Model>, oneshot::Sender<()>),
}
