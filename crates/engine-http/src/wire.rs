//! What one kind of engine must know: how to ask, and how to read.

use std::sync::Arc;

use verbatim_engine::{AttemptId, Control, End, EngineError, Increment, Params, Prompt, Score};
use verbatim_tokens::TokenId;

use crate::host::Host;
use crate::version::Sightings;

/// One kind of engine.
pub(crate) trait Wire: Sized + Send + Sync + 'static {
    /// Reads one reply.
    type Reader: Reader;
    /// The engine's control plane.
    type Plane: Control + 'static;

    /// The request of one attempt.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be asked that.
    fn call(&self, id: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError>;

    /// What reads the reply to it.
    fn reader(&self, asked: Asked) -> Self::Reader;

    /// The control request that aborts an attempt; `None` where dropping its connection is the way.
    fn abort(&self, id: AttemptId) -> Option<(&'static str, serde_json::Value)>;

    /// The control plane of a server.
    fn plane(&self, host: Host) -> Self::Plane;

    /// Scoring, where the engine can.
    fn score(plane: &Self::Plane) -> Option<&dyn Score>;
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) path: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// What a reader must know of the request.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Prompt tokens.
    pub(crate) prompt: usize,
    /// The prompt, where the engine was sent another and is to say what it made of it.
    pub(crate) shown: Option<Arc<[TokenId]>>,
    /// Ids that end the turn.
    pub(crate) stop_ids: Vec<TokenId>,
    /// The first position whose experts were asked for.
    pub(crate) experts_from: Option<usize>,
    /// Whether the indexer's choices are wanted.
    pub(crate) indexer: bool,
    /// The versions seen so far.
    pub(crate) sightings: Sightings,
}

/// Reads a reply.
pub(crate) trait Reader: Send {
    /// Takes one event, or the whole body, over: new tokens go to `out`. Returns the end if this is
    /// the reply's last word.
    ///
    /// # Errors
    /// [`EngineError`], if it is no such reply or says that something failed.
    fn read(&mut self, data: &[u8], out: &mut Increment) -> Result<Option<End>, EngineError>;

    /// How many tokens were read.
    fn tokens(&self) -> usize;
}
