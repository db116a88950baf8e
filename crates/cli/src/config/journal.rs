//! `[journal]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What sessions are kept in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JournalConfig {
    /// The folder; without one nothing survives the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<PathBuf>,
    /// What it survives: `process` (the end of the process, however it ends), `disk` (the loss of power, too), or
    /// `off`.
    pub(crate) level: JournalLevel,
    /// MiB of one of its files.
    pub(crate) segment_mib: u64,
}

/// What a journal survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JournalLevel {
    /// Nothing: none is kept.
    Off,
    /// The end of the process.
    #[default]
    Process,
    /// The loss of power.
    Disk,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self { folder: None, level: JournalLevel::default(), segment_mib: 64 }
    }
}
