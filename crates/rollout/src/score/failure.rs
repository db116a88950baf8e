//! Rewards and advantages that could not be had.

/// A reward or an advantage that could not be had: never the agent's failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub(crate) struct ScoreFailure {
    /// The setting that names who was asked.
    pub(crate) what: &'static str,
    /// What went wrong, and the way out.
    pub(crate) problem: String,
}

/// Someone who was asked and did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) problem: String,
    /// Whether asking again may help.
    pub(crate) passes: bool,
}

impl Unanswered {
    pub(crate) fn passing(problem: impl std::fmt::Display) -> Self {
        Self { problem: problem.to_string(), passes: true }
    }

    pub(crate) fn for_good(problem: impl std::fmt::Display) -> Self {
        Self { problem: problem.to_string(), passes: false }
    }
}
