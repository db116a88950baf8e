//! One piece of an engine's reply.

use verbatim_chat::Message;
use verbatim_tokens::{Replay, Speculation, TokenId, Version};

use crate::EngineError;

/// What one attempt's stream yields.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// More tokens.
    More(Increment),
    /// The end; nothing follows.
    End(End),
}

/// New tokens of one attempt, never repeated ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Increment {
    /// The sampled ids, in order; a stop token is included.
    pub ids: Vec<TokenId>,
    /// One logprob an id; `None` where the engine has none.
    pub logprobs: Vec<Option<f32>>,
    /// The policy version that sampled all of these; `None` if the engine does not say.
    pub version: Option<Version>,
    /// For each id the most likely alternatives, best first, if they were asked for; else empty.
    pub top: Vec<Vec<(TokenId, f32)>>,
}

/// How an attempt ended, and what the engine told of it besides its tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Why nothing follows.
    pub ending: Ending,
    /// How many prompt tokens came from the engine's prefix cache, if it says.
    pub cached_tokens: Option<u32>,
    /// Which weights sampled which of the attempt's tokens, if the engine says so span by span; it
    /// then replaces what the increments said.
    pub versions: Option<Vec<VersionSpan>>,
    /// Which experts each position was routed to, if it was asked for.
    pub experts: Option<Replay>,
    /// Which positions sparse attention looked at from each position, if it was asked for.
    pub indexer: Option<Replay>,
    /// What speculative decoding did, if the engine says.
    pub speculation: Option<Speculation>,
    /// How often the engine threw the attempt's cache away and computed it again.
    pub retractions: u32,
    /// The reply as the engine's own parsers read it, where they were asked.
    pub message: Option<Box<Message>>,
}

impl From<Ending> for End {
    fn from(ending: Ending) -> Self {
        Self {
            ending,
            cached_tokens: None,
            versions: None,
            experts: None,
            indexer: None,
            speculation: None,
            retractions: 0,
            message: None,
        }
    }
}

/// A stretch of an attempt's tokens that one version sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSpan {
    /// The version.
    pub version: Version,
    /// The first token, counted from the attempt's first.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

/// Why an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The model or a stop condition ended the turn.
    Stop(StopBy),
    /// The token limit was reached.
    Length,
    /// The attempt was aborted, by us or by the engine; what came before is valid.
    Aborted,
    /// The attempt failed; [`EngineError::remedy`] says what becomes of what came before.
    Failed(EngineError),
}

/// What stopped a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopBy {
    /// A stop token, which is the last sampled id.
    Token(TokenId),
    /// A stop string, which ends inside or after the last sampled id.
    Text(String),
    /// Something the engine named otherwise.
    Other(String),
}
