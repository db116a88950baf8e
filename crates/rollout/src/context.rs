//! What every group of a rollout needs.

use verbatim_process::Launcher;
use verbatim_session::Sessions;

use crate::Plan;

/// The plan and what it runs with.
pub(crate) struct Context {
    pub(crate) plan: Plan,
    pub(crate) sessions: Sessions,
    pub(crate) launcher: Launcher,
    /// The server's root, without a trailing slash.
    pub(crate) server: String,
}
