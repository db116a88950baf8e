//! Many engines behind one.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;
use verbatim_tokens::Version;

use crate::{Answer, EngineError, Health, Load, Order};

/// The engines behind a server, told all at once and changed while it runs.
pub trait Fleet: Send + Sync {
    /// Gives an order to every engine at once, each with `deadline` to answer. One answer an engine:
    /// what did not answer in time is among them.
    fn tell(&self, order: Order, deadline: Duration) -> BoxFuture<'_, Vec<Answer>>;

    /// The engines as they are known now, in the order in which they were added.
    fn members(&self) -> Vec<MemberState>;

    /// Adds an engine by its URL, once it has been asked what it is.
    ///
    /// # Errors
    /// [`FleetError`].
    fn add(&self, url: String) -> BoxFuture<'_, Result<(), FleetError>>;

    /// Removes an engine: it gets nothing new, and once its attempts have ended, or after `drain`,
    /// it is forgotten. Attempts that still run then are aborted, and their turns go on elsewhere.
    ///
    /// # Errors
    /// [`FleetError::Unknown`].
    fn remove(&self, url: String, drain: Duration) -> BoxFuture<'_, Result<(), FleetError>>;
}

/// One engine as its fleet knows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberState {
    /// Its URL, which is its name.
    pub engine: String,
    /// Its kind: `sglang`, `vllm`, `llamacpp`.
    pub kind: String,
    /// Whether it takes work, by its last answer.
    #[serde(flatten)]
    pub health: Health,
    /// Whether failures keep it out of use: `closed` (in use), `open` (left alone), `half_open` (tried).
    pub breaker: &'static str,
    /// Attempts that it runs for us.
    pub attempts: usize,
    /// Attempts that it may run for us at once; 0 is no limit.
    pub permits: usize,
    /// Whether it is on its way out.
    pub draining: bool,
    /// Its own count, if it gives one.
    pub load: Option<Load>,
    /// The version it last named.
    pub version: Option<Version>,
}

/// A change of the fleet that was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FleetError {
    /// There is no such engine.
    #[error("no engine {url}; GET /control/engines lists them")]
    Unknown {
        /// The URL.
        url: String,
    },
    /// It is there already.
    #[error("engine {url} is there already")]
    Known {
        /// The URL.
        url: String,
    },
    /// It does not fit the others, or loses what rows need.
    #[error("engine {url} cannot join: {reason}")]
    Unfit {
        /// The URL.
        url: String,
        /// What differs, and from what.
        reason: String,
    },
    /// It does not answer.
    #[error("engine {url}: {source}")]
    Failed {
        /// The URL.
        url: String,
        /// How.
        source: EngineError,
    },
}
