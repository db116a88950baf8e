//! The launcher's side: a small synchronous program.
//!
//! It reads one line, starts the process, and then waits for whichever comes first: the process'
//! end, a word of its owner's, or the owner's end of the pipe closing.

mod descendants;
mod run;

use serde::{Deserialize, Serialize};

use crate::{Exit, Spec};

pub use run::main;

/// What the owner says, one JSON value a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    /// Start this. Comes first.
    Start(Spec),
    /// End it.
    End,
}

/// What the launcher says, one JSON value a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The process runs.
    Started {
        /// Its process id, which is also its group's.
        pid: i32,
    },
    /// It could not be started.
    Failed {
        /// Why.
        reason: String,
    },
    /// It is gone, and everything it started.
    Exited(Exit),
}
