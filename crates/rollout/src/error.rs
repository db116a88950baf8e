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
    /// Rows were not taken.
    #[error("the rows of a group were not taken: {0}")]
    Sink(#[from] crate::SinkError),
}
