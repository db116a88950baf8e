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
    /// The engine replied something that must not be trained on.
    #[error("the engine's reply cannot be trusted: {reason}")]
    Poisoned {
        /// What gave it away.
        reason: String,
    },
    /// The engine's stream was cut before its end.
    #[error("the engine's reply was cut after {tokens} tokens: {reason}")]
    Cut {
        /// Tokens received before.
        tokens: usize,
        /// What was seen.
        reason: String,
    },
    /// The engine cannot be reached, or cannot take the request now.
    #[error("the engine is not available: {reason}")]
    Unavailable {
        /// What was seen.
        reason: String,
    },
    /// The engine refused the request.
    #[error("the engine refused: {message}")]
    Refused {
        /// Its own words.
        message: String,
    },
    /// The engine read another prompt than it was sent.
    #[error(
        "the engine read another prompt than it was sent: {seen}; with images its image processor must be the family's: \
         compare family.min_pixels and family.max_pixels with its preprocessor_config.json"
    )]
    OtherPrompt {
        /// What it said that it read.
        seen: String,
    },
    /// The engine has no such function.
    #[error("this engine cannot {what}")]
    Unsupported {
        /// Which function.
        what: &'static str,
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

/// What can be done about a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// What came before the failure is valid: another attempt may go on after it.
    Resume,
    /// What came before must not be used: another attempt may begin where this one began.
    Discard,
    /// Another attempt would fail as this one did.
    Fail,
}

impl EngineError {
    /// A stable short name for metrics and reports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Lengths(_) => "lengths",
            Self::TooMany { .. } => "too_many",
            Self::Poisoned { .. } => "poisoned",
            Self::Cut { .. } => "cut",
            Self::Unavailable { .. } => "unavailable",
            Self::Refused { .. } => "refused",
            Self::OtherPrompt { .. } => "other_prompt",
            Self::Unsupported { .. } => "unsupported",
            Self::Context { .. } => "context",
            Self::Vocabulary { .. } => "vocabulary",
            Self::Broken { .. } => "broken",
        }
    }

    /// What can be done about an attempt that failed so.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Cut { .. } | Self::Unavailable { .. } => Remedy::Resume,
            Self::Lengths(_) | Self::TooMany { .. } | Self::Poisoned { .. } => Remedy::Discard,
            Self::Refused { .. }
            | Self::OtherPrompt { .. }
            | Self::Unsupported { .. }
            | Self::Context { .. }
            | Self::Vocabulary { .. }
            | Self::Broken { .. } => Remedy::Fail,
        }
    }
}
