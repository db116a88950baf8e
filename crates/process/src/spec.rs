//! What is to be run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables set on top of the owner's environment.
    pub env: BTreeMap<String, String>,
    /// Variables of the owner's environment that it does not get.
    pub hide: Vec<String>,
    /// Where its output and errors are appended.
    pub log: PathBuf,
    /// How long it may take to end once it was told to, in milliseconds, before it is killed.
    pub grace_ms: u64,
}
