//! Which weights sampled a token.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The policy version as the engine names it (`"7"`, `"step-7"`, `"default"`).
///
/// Engines disagree on its form, so it is text; it is compared, never parsed. A span whose version
/// the engine did not tell has no `Version` at all: unknown is `None`, never a stale one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(Arc<str>);

impl Version {
    /// Takes the engine's own spelling.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The engine's own spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
