//! Why a plug-in did not give a result.

use serde::{Deserialize, Serialize};
use verbatim_process::ProcessError;

/// What a worker says went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The path is not `pkg.mod:fn` or `pkg.mod.fn`.
    BadPath,
    /// The module could not be imported.
    Import,
    /// The module has no such name.
    Missing,
    /// The name is not a callable.
    NotCallable,
    /// The callable is async and its kind may not be.
    AsyncRefused,
    /// The callable raised.
    Raised,
    /// The callable returned what its kind may not return.
    BadResult,
    /// The call was cancelled.
    Cancelled,
    /// The samples in the blob cannot be decoded.
    BadBlob,
    /// Owner and worker do not understand each other.
    Protocol,
}

/// A failure of a host or of a plug-in.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PluginError {
    /// The interpreter could not be started.
    #[error(
        "cannot start the Python interpreter {python:?}: {reason}; install Python 3.10 or newer, or name another interpreter"
    )]
    Interpreter {
        /// The interpreter.
        python: String,
        /// Why.
        reason: String,
    },
    /// The interpreter ran, but `verbatim.host` did not come up.
    #[error(
        "{python:?} did not start `verbatim.host`; install the package there (`pip install ./python`), or add its folder to the search paths. Its output ends with:\n{tail}"
    )]
    Package {
        /// The interpreter.
        python: String,
        /// The end of its log.
        tail: String,
    },
    /// The host speaks another protocol.
    #[error(
        "`verbatim.host` speaks protocol {theirs}, this binary {ours}; install the package of this version"
    )]
    Version {
        /// This crate's.
        ours: u32,
        /// The host's.
        theirs: u32,
    },
    /// The plug-in cannot be loaded, raised, or returned what it may not.
    #[error("{kind} {path}: {message}{}{traceback}", break_before(.traceback))]
    Refused {
        /// The plug-in's kind, in its word.
        kind: String,
        /// Its path.
        path: String,
        /// What kind of failure it was.
        cause: Cause,
        /// What went wrong.
        message: String,
        /// The Python traceback; empty if there is none.
        traceback: String,
    },
    /// The call used up its time.
    #[error("{kind} {path} used up its {seconds} s")]
    Deadline {
        /// The plug-in's kind, in its word.
        kind: String,
        /// Its path.
        path: String,
        /// The time it had.
        seconds: f64,
    },
    /// The worker died under the call.
    #[error("{kind} {path} lost its worker: {reason}")]
    Died {
        /// The plug-in's kind, in its word.
        kind: String,
        /// Its path.
        path: String,
        /// How it died, and the end of its log.
        reason: String,
    },
    /// A message is larger than a frame may be.
    #[error("a message of {size} bytes is larger than a frame may be ({limit})")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The host was shut down.
    #[error("the plug-in host was shut down")]
    Closed,
    /// A failure of the system's: the socket, the folder, the launcher.
    #[error("the plug-in host failed: {reason}")]
    System {
        /// What failed.
        reason: String,
    },
}

impl PluginError {
    pub(crate) fn system(error: impl std::fmt::Display) -> Self {
        Self::System { reason: error.to_string() }
    }

    pub(crate) fn started(python: &str, error: ProcessError) -> Self {
        match error {
            ProcessError::Start { reason, .. } => Self::Interpreter { python: python.to_owned(), reason },
            other => Self::system(other),
        }
    }
}

/// What stands between a message and its traceback.
fn break_before(traceback: &str) -> &'static str {
    if traceback.is_empty() { "" } else { "\n" }
}
