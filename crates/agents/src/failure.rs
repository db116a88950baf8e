//! Why an agent yielded no output.

use verbatim_plugins::PluginError;
use verbatim_process::{Exit, ProcessError};

use crate::{BadOutput, RemoteError};

/// What a running agent can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To end.
    End,
    /// That its time is used up.
    TimeUp,
}

/// Why an agent yielded no output.
#[derive(Debug, thiserror::Error)]
pub enum AgentFailure {
    /// It ended badly.
    #[error("the agent ended with {exit}{}{tail}", log_of(.tail))]
    Exit {
        /// How.
        exit: Exit,
        /// The end of its log, if it has one.
        tail: String,
    },
    /// It used up its time.
    #[error("the agent used up its {seconds} s{}{tail}", log_of(.tail))]
    Timeout {
        /// The time it had.
        seconds: u64,
        /// The end of its log, if it has one.
        tail: String,
    },
    /// Its output cannot be read.
    #[error(transparent)]
    Output(#[from] BadOutput),
    /// It was told to end.
    #[error("the agent was told to end")]
    Cancelled,
    /// Its function failed.
    #[error(transparent)]
    Function(PluginError),
    /// Its service said that it failed.
    #[error("the agent failed: {0}")]
    Remote(String),
    /// It could not be run as a process: our failure, not the agent's.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Its folder could not be made or read: our failure, not the agent's.
    #[error("the agent's folder failed: {0}")]
    Folder(#[from] std::io::Error),
    /// Its plug-in host failed: our failure, not the agent's.
    #[error(transparent)]
    Host(PluginError),
    /// Its service could not be reached, or makes no sense: not the agent's failure.
    #[error(transparent)]
    Service(#[from] RemoteError),
}

/// Why one of the ways came to no output.
pub(crate) enum Stopped {
    /// The agent failed, or we did.
    Failed(AgentFailure),
    /// It was told.
    Told(Told),
    /// It was told, and left a log with this end.
    Logged(Told, String),
}

impl<T: Into<AgentFailure>> From<T> for Stopped {
    fn from(failure: T) -> Self {
        Self::Failed(failure.into())
    }
}

/// What stands between an error and a log's end.
fn log_of(tail: &str) -> &'static str {
    if tail.is_empty() { "" } else { "; the end of its log:\n" }
}
