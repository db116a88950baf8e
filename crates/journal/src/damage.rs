//! What a disk did to a journal.

use std::path::PathBuf;

use crate::frame::Number;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, byte {offset}: {what}", .path.display())]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// What is wrong there.
    pub what: What,
}

/// Kinds of damage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum What {
    /// Bytes that are no record, before others that are: those records are lost.
    #[error("{bytes} bytes are no record; {lost} records are lost")]
    Unreadable {
        /// How many bytes were passed over.
        bytes: u64,
        /// How many records are missing.
        lost: u64,
    },
    /// Records between two segments are not there.
    #[error("it begins with record {found}, and {expected} was to come: {} records are lost", found.0.saturating_sub(expected.0))]
    Missing {
        /// The record that was to come.
        expected: Number,
        /// The one that is there.
        found: Number,
    },
    /// A file that is no segment.
    #[error("it has no header of a segment")]
    NoHeader,
    /// A segment under another's name.
    #[error("it is segment {says}")]
    Misnamed {
        /// Which one it says that it is.
        says: u64,
    },
    /// A payload is not what it was.
    #[error(
        "a payload of {bytes} bytes is not as it was written: its entry of {line} and what follows are lost"
    )]
    Payload {
        /// How many bytes it is to have.
        bytes: u64,
        /// The line.
        line: String,
    },
    /// An entry does not follow the one before.
    #[error("{line} goes on with entry {found} where {expected} was to come: it ends there")]
    Gap {
        /// The line.
        line: String,
        /// Which entry was to come.
        expected: u32,
        /// Which one there is.
        found: u32,
    },
}
