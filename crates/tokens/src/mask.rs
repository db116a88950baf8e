//! Why a token of a row carries no loss.

use serde::{Deserialize, Serialize};

/// The reason a token is masked. A token without one is trained.
///
/// A row's mask is never stored by hand: it follows from where each token came from, and this is
/// the answer to "why not?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskCause {
    /// No engine sampled it: the prompt, a tool's result, the template's own tokens.
    Observation,
    /// It was sampled, and another row of the session owns its loss.
    SharedOwner,
    /// It was sampled, and the next turn's opener replaced it.
    Trimmed,
    /// It was sampled, and the engine gave no logprob for it.
    NoLogprob,
    /// It was sampled beyond the row's length limit.
    Truncated,
    /// A picker or post-processor of the user's masked it.
    Policy,
}

impl MaskCause {
    /// The name used in rows, metrics and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observation => "observation",
            Self::SharedOwner => "shared_owner",
            Self::Trimmed => "trimmed",
            Self::NoLogprob => "no_logprob",
            Self::Truncated => "truncated",
            Self::Policy => "policy",
        }
    }
}
