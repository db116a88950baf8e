//! How an agent is started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// An agent: a command that takes its task from a file, or from its environment, and talks to a
/// model over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The command, run by `/bin/bash -c`: no login shell, whose profile would take time at each start, could
    /// override what the agent is told, and may leave a lock behind when it is killed.
    pub command: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables of the user's.
    pub env: BTreeMap<String, String>,
    /// How long it may live.
    pub timeout: Duration,
    /// How long it may take to end once it was told to.
    pub grace: Duration,
}
