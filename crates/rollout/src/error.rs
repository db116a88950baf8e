//! Rollouts that cannot run.

use std::path::PathBuf;

/// A failure of the rollout itself, not of an agent.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The dataset is malformed.
    #[error("{}: row {row}: {problem}", .path.display())]
    Row {
        /// The dataset.
        path: PathBuf,
        /// The row, counted from 0.
        row: usize,
        /// What is wrong and the way out.
        problem: String,
    },
    /// The dataset's kind is unknown or it cannot be decoded.
    #[error("{}: {problem}", .path.display())]
    Dataset {
        /// The dataset.
        path: PathBuf,
        /// What is wrong and the way out.
        problem: String,
    },
    /// An object store that takes nothing.
    #[error("{url}: {problem}")]
    Store {
        /// Where it is.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// What an earlier server left of the rollout does not go with this one.
    #[error("the journal: {problem}")]
    Custody {
        /// What is wrong and the way out.
        problem: String,
    },
    /// One group after the other failed.
    #[error(
        "{groups} groups in a row failed, the last one with {cause}{}; see what the agents said, or set \
         rollout.give_up", .text.as_ref().map(|text| format!(": {text}")).unwrap_or_default()
    )]
    GaveUp {
        /// How many.
        groups: u32,
        /// Of the last one.
        cause: &'static str,
        /// What was said of it.
        text: Option<String>,
    },
    /// Rows were not taken.
    #[error("the rows of a group were not taken: {0}")]
    Sink(#[from] crate::SinkError),
}
