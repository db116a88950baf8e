//! `[agent]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[agent]`: exactly one of `command`, `function` and `url`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentConfig {
    /// A command, run by `bash -c`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The dotted path of a Python function: `package.module:run_agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) function: Option<String>,
    /// The root of a service that tasks are posted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The server's root as agents reach it, where that is not the address it listens on: from another machine, or
    /// through a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_url: Option<String>,
    /// `url`: the file of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_file: Option<PathBuf>,
    /// `url`: seconds between two looks at a task.
    pub(crate) poll_seconds: f64,
    /// `url`: seconds that one request may take.
    pub(crate) request_seconds: u64,
    /// `url`: how often in a row requests about a task may fail.
    pub(crate) failures: u32,
    /// A command that is run once before any agent, to build or install it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) setup: Option<String>,
    /// Where commands run.
    pub(crate) cwd: PathBuf,
    /// `command`: variables.
    pub(crate) env: BTreeMap<String, String>,
    /// `command`: whether it gets the server's own variables, or the names of those it gets.
    pub(crate) inherit_env: InheritConfig,
    /// `command`: MiB of address space of each process; 0 is no limit.
    pub(crate) max_memory_mib: u64,
    /// `command`: open files of each process; 0 is no limit.
    pub(crate) max_files: u64,
    /// `command`: processor seconds of each process; 0 is no limit.
    pub(crate) max_cpu_seconds: u64,
    /// `command`: MiB of a file that it writes; 0 is no limit.
    pub(crate) max_file_mib: u64,
    /// Seconds that an agent may be active: its group is leased and the gate is open.
    pub(crate) timeout_seconds: u64,
    /// Seconds between being told to end and being killed.
    pub(crate) grace_seconds: u64,
    /// Agents at once; of a service no more than it has slots.
    pub(crate) concurrency: usize,
}

/// What an agent gets of the server's environment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum InheritConfig {
    /// All of it, or nothing but what a shell needs.
    All(bool),
    /// These variables.
    Only(Vec<String>),
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            command: None,
            function: None,
            url: None,
            server_url: None,
            key_file: None,
            poll_seconds: 1.0,
            request_seconds: 30,
            failures: 5,
            setup: None,
            cwd: ".".into(),
            env: BTreeMap::new(),
            inherit_env: InheritConfig::All(true),
            max_memory_mib: 0,
            max_files: 0,
            max_cpu_seconds: 0,
            max_file_mib: 0,
            timeout_seconds: 1800,
            grace_seconds: 5,
            concurrency: 8,
        }
    }
}
