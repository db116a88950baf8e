//! How a mock fails to start.

/// A mock that cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// The port is taken, or there are no more.
    #[error("cannot listen on port {port} of the loopback interface: {source}")]
    Listen {
        /// The port asked for; 0 is any.
        port: u16,
        /// What the system said.
        source: std::io::Error,
    },
}
