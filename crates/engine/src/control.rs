//! What an engine can do besides generating.

use futures::future::BoxFuture;
use verbatim_tokens::{TokenId, Version};

use crate::EngineError;

/// An engine's control plane.
pub trait Control: Send + Sync {
    /// The policy version that would sample the next token.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be asked.
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>>;

    /// Forgets every cached prefix, as after a change of weights.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told.
    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>>;
}

/// An engine that scores given ids.
pub trait Score: Send + Sync {
    /// The raw log-softmax of each id after those before it: as many values as ids, the first one
    /// `None`, since nothing precedes it.
    ///
    /// # Errors
    /// [`EngineError`] if the ids do not fit or the engine fails.
    fn score(&self, ids: Vec<TokenId>) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>>;
}
