//! Journals that cannot be opened or written.

use std::path::PathBuf;
use std::sync::Arc;

/// A failure of the journal.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has the folder.
    #[error("{}: another server keeps its journal here; stop it, or use another folder", .folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// A file could not be read or written.
    #[error("{}: {doing}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        source: Arc<std::io::Error>,
    },
    /// A file of another version of this program.
    #[error("{}: its format is {found}, and this version reads {known}", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: u32,
        /// What is known.
        known: u32,
    },
    /// More than a record may hold.
    #[error("{bytes} bytes are more than a record of the journal may hold ({most})")]
    TooLarge {
        /// How many.
        bytes: usize,
        /// How many may be.
        most: usize,
    },
    /// An entry that does not say what it should.
    #[error("entry {at} of {line}: {problem}")]
    Entry {
        /// The line.
        line: String,
        /// Which entry.
        at: u32,
        /// What is wrong.
        problem: String,
    },
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}

impl JournalError {
    pub(crate) fn file(path: impl Into<PathBuf>, doing: &'static str, source: std::io::Error) -> Self {
        Self::File { path: path.into(), doing, source: Arc::new(source) }
    }

    /// Whether the disk has no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
    }
}
