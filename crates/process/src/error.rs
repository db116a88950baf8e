//! Processes that could not be run.

/// A failure to run a process: of ours, not of the program.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The launcher could not be started or spoken to.
    #[error("the launcher failed: {0}")]
    Launcher(#[from] std::io::Error),
    /// The launcher could not start the program.
    #[error("cannot start {program:?}: {reason}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The launcher said something else than expected, or nothing.
    #[error("the launcher ended without a word")]
    Silent,
}
