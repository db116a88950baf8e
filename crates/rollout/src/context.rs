//! What every group of a rollout needs.

use verbatim_process::Launcher;
use verbatim_session::Sessions;

use std::sync::Arc;

use crate::Plan;
use crate::score::Scorer;

/// The plan and what it runs with.
pub(crate) struct Context {
    pub(crate) plan: Plan,
    pub(crate) sessions: Sessions,
    pub(crate) launcher: Launcher,
    pub(crate) scorer: Arc<Scorer>,
    /// The server's root, without a trailing slash.
    pub(crate) server: String,
}
