//! How engines fail.

use verbatim_tokens::{LengthMismatch, TokenId};

/// A failure of an engine or of what it replied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// Ids, logprobs and counts of a reply do not belong together.
    #[error("the engine's reply is inconsistent: {0}")]
    Lengths(#[from] LengthMismatch),
    /// The engine sent more tokens than were asked for.
    #[error("the engine sent {sent} tokens, {allowed} were allowed")]
    TooMany {
        /// Tokens sent so far in this turn.
        sent: usize,
        /// The turn's limit.
        allowed: usize,
    },
    /// The engine's stream was cut before its end.
    #[error("the engine's reply was cut after {tokens} tokens: {reason}")]
    Cut {
        /// Tokens received before.
        tokens: usize,
        /// What was seen.
        reason: String,
    },
    /// The engine refused the request.
    #[error("the engine refused: {message}")]
    Refused {
        /// Its own words.
        message: String,
    },
    /// Prompt and limit exceed what the model can hold.
    #[error("{prompt} prompt tokens leave no room in a context of {context}")]
    Context {
        /// Prompt tokens.
        prompt: usize,
        /// The model's limit.
        context: usize,
    },
    /// A prompt id is not in the model's vocabulary.
    #[error("token id {id} is outside the model's vocabulary of {vocabulary}")]
    Vocabulary {
        /// The offending id.
        id: TokenId,
        /// How many ids there are.
        vocabulary: usize,
    },
    /// The engine is gone or broken.
    #[error("the engine failed: {reason}")]
    Broken {
        /// What was seen.
        reason: String,
    },
}

impl EngineError {
    /// A stable short name for metrics and reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Lengths(_) => "lengths",
            Self::TooMany { .. } => "too_many",
            Self::Cut { .. } => "cut",
            Self::Refused { .. } => "refused",
            Self::Context { .. } => "context",
            Self::Vocabulary { .. } => "vocabulary",
            Self::Broken { .. } => "broken",
        }
    }
}
