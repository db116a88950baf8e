//! Why a turn was not committed.

use verbatim_dialects::Invalid;
use verbatim_engine::EngineError;
use verbatim_events::Cause;
use verbatim_families::RenderError;
use verbatim_forest::{Conflict, Refusal};

use crate::Unkept;

/// A turn that was not committed. The session is as it was before.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TurnError {
    /// The request is malformed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The session's lineage does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The family cannot render it.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The prompt leaves no room for a reply.
    #[error(
        "this model's context holds {context} tokens and the messages take {prompt}; shorten the messages"
    )]
    ContextLength {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens that the model holds.
        context: usize,
    },
    /// The engine failed, or its reply was inconsistent.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No permit, gate or resumption came in time.
    #[error("the turn was held for longer than {seconds} s without progress")]
    HoldExpired {
        /// The hold deadline.
        seconds: u64,
    },
    /// The session holds as much as it may.
    #[error(
        "the session holds {held} bytes of at most {limit} and takes no more turns; collect its rows and open \
         another (sessions.max_mib sets the limit)"
    )]
    Full {
        /// Bytes held.
        held: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The user's matcher failed.
    #[error("session message matcher {name}: {problem}")]
    Matcher {
        /// Its dotted path.
        name: String,
        /// What it failed with.
        problem: String,
    },
    /// Sessions are sampled with published adapters, and there is none.
    #[error("no adapter is published: the trainer names one with POST /control/adapters")]
    NoAdapter,
    /// It cannot be kept.
    #[error(transparent)]
    Unkept(#[from] Unkept),
    /// The session closed meanwhile.
    #[error("the session is closed")]
    Closed,
    /// Another turn was committed first.
    #[error(transparent)]
    Conflict(#[from] Conflict),
}

impl TurnError {
    /// The loss that this is, if it is one: a request that was refused lost nothing.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Engine(error) => Some(Cause::EngineFailed { kind: error.kind().to_owned() }),
            Self::HoldExpired { .. } => Some(Cause::HoldExpired),
            Self::Closed => Some(Cause::SessionClosed),
            Self::Conflict(_) => Some(Cause::Raced),
            Self::Matcher { .. } => Some(Cause::MatcherFailed),
            Self::Unkept(_) => Some(Cause::Unkept),
            Self::Invalid(_)
            | Self::Refused(_)
            | Self::Render(_)
            | Self::ContextLength { .. }
            | Self::NoAdapter
            | Self::Full { .. } => None,
        }
    }
}
