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
    /// What it gets of the owner's environment.
    pub inherit: Inherit,
    /// Where its output and errors are appended.
    pub log: PathBuf,
    /// A folder that the process shares with its owner: it is deleted when the owner lets go of the process, or is
    /// gone, however it went.
    pub folder: Option<PathBuf>,
    /// How long it may take to end once it was told to, in milliseconds, before it is killed.
    pub grace_ms: u64,
}

/// Which variables of its owner's a process gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// All but these.
    Except(Vec<String>),
    /// These, where the owner has them.
    Only(Vec<String>),
}
