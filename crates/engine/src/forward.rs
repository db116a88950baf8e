//! Requests that are passed on to an engine as they are.

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::{EngineError, SessionKey};

/// A client's own request to an engine.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The HTTP method, in capitals.
    pub method: String,
    /// Path and query, from the first slash on.
    pub path: String,
    /// Headers, without those of one connection and without keys.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// Whose request it is: it goes where the session's prefix is.
    pub session: SessionKey,
}

/// What the engine said, whatever its status.
#[derive(Clone, Debug)]
pub struct Told {
    /// The HTTP status.
    pub status: u16,
    /// Headers, without those of one connection.
    pub headers: Vec<(String, String)>,
    /// The whole body, decoded from its transfer's compression.
    pub body: Bytes,
}

/// An engine that has an HTTP surface of its own.
pub trait Forward: Send + Sync {
    /// Passes a request on; nothing of it is recorded.
    ///
    /// # Errors
    /// [`EngineError`] if no reply came. A status that is no success is no error.
    fn forward(&self, passed: Passed) -> BoxFuture<'_, Result<Told, EngineError>>;
}
