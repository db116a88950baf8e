//! One piece of an engine's reply.

use verbatim_tokens::{TokenId, Version};

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

/// How an attempt ended, and what the engine told besides.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Why nothing follows.
    pub ending: Ending,
    /// How many prompt tokens came from the engine's prefix cache, if it says.
    pub cached_tokens: Option<u32>,
}

impl From<Ending> for End {
    fn from(ending: Ending) -> Self {
        Self { ending, cached_tokens: None }
    }
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
    /// The attempt failed; what came before must not be committed.
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
