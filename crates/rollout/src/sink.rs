//! Where the rows of accepted groups go.
//!
//! The invariant: a group's rows are given once, whole, and count as published once they were taken for good.

use std::sync::Arc;

use futures::future::BoxFuture;
use verbatim_events::GroupId;
use verbatim_samples::Row;

use crate::Custody;

/// An accepted group.
#[derive(Debug)]
pub struct Batch {
    /// How many groups were accepted before it, by earlier servers of its journal, too.
    pub number: u64,
    /// The step that it belongs to.
    pub step: u64,
    /// The group.
    pub group: GroupId,
    /// Its rows, in the order of their sessions' places.
    pub rows: Vec<Row>,
    /// Whether its step is complete with it. A step that closes short has no last one.
    pub is_last: bool,
}

/// Rows that were not taken.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The sink was closed before; nothing is wrong with it.
    #[error("the rows were not asked for before the rollout ended")]
    Closed,
    /// A file could not be written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The rows have no form in the format asked for.
    #[error(transparent)]
    Rows(#[from] verbatim_samples::RowError),
    /// Whoever takes the rows refused them or broke down.
    #[error("{sink}: {problem}")]
    Refused {
        /// Which sink.
        sink: &'static str,
        /// What it says.
        problem: String,
    },
}

/// Someone who takes rows.
pub trait Sink: Send + Sync {
    /// Takes a group; resolves once it is kept for good.
    fn put(&self, batch: Arc<Batch>) -> BoxFuture<'static, Result<(), SinkError>>;

    /// What keeps rows until they were taken for good, if something does: whoever is told that they were is told after
    /// [`Custody`] knows it. `next` is the number of the next group.
    fn keep(&self, _custody: &Custody, _next: u64) {}

    /// No more is taken: what still waits to be taken resolves with [`SinkError::Closed`].
    fn close(&self) {}
}
