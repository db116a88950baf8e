//! What a journal survives.

use serde::{Deserialize, Serialize};

/// When a record counts as kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Once the system has it: survives the end of the process, however it ends.
    #[default]
    Process,
    /// Once the disk has it: survives the loss of power too.
    Disk,
}
