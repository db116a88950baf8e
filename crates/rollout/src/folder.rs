//! Rows on disk, a file a group.
//!
//! The invariant: a file has its name only once it is complete.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use verbatim_samples::Format;

use crate::{Batch, RolloutError, Sink, SinkError};

/// Writes each group as one file of a folder, named as the group: `train-17.parquet`.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    format: Format,
}

impl Folder {
    /// Makes the folder.
    ///
    /// # Errors
    /// [`RolloutError::File`].
    pub fn new(path: PathBuf, format: Format) -> Result<Self, RolloutError> {
        std::fs::create_dir_all(&path).map_err(|source| RolloutError::File { path: path.clone(), source })?;
        Ok(Self { path, format })
    }

    fn write(&self, batch: &Batch) -> Result<(), SinkError> {
        let bytes = self.format.write(&batch.rows)?;
        let name = batch.group.as_str().replace(':', "-");
        let path = self.path.join(format!("{name}.{}", self.format.extension()));
        let part = self.path.join(format!(".{name}.part"));
        std::fs::write(&part, bytes)
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|source| SinkError::File { path, source })
    }
}

impl Sink for Folder {
    fn put(&self, batch: Arc<Batch>) -> BoxFuture<'static, Result<(), SinkError>> {
        let folder = self.clone();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || folder.write(&batch)).await;
            written.unwrap_or_else(|error| {
                Err(SinkError::Refused { sink: "folder", problem: error.to_string() })
            })
        })
    }
}
