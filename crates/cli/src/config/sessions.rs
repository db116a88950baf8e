//! `[sessions]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How sessions behave, and what bounds them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionsConfig {
    /// `tree` or `linear`.
    pub(crate) lineage: String,
    /// Which replayed messages are the same: `loose_replay`, `loose_tool_call`, `role_content_only`, `strict`, or
    /// the dotted path of a Python function.
    pub(crate) matcher: String,
    /// `linear`: turns that a request may take back.
    pub(crate) rollback: usize,
    /// What becomes of a request whose tools or template arguments differ from those its session began
    /// with: `accept` (a tree begins another root, a line goes on) or `refuse`.
    pub(crate) tools_drift: String,
    /// Sessions open at once; 0 is no limit.
    pub(crate) max_sessions: usize,
    /// MiB that one session may hold before it takes no more turns; 0 is no limit.
    pub(crate) max_mib: usize,
    /// MiB of replay payloads in memory; what comes beyond goes to files.
    pub(crate) replay_mib: usize,
    /// The folder of those files; else the system's temporary folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spill: Option<PathBuf>,
    /// Seconds after which a session that nobody uses is reclaimed; 0 is never.
    pub(crate) idle_seconds: u64,
    /// Turns at the engine at once.
    pub(crate) turns: usize,
    /// Whether each session is sampled with the LoRA adapter that a trainer has published when its first turn begins.
    pub(crate) adapters: bool,
    /// Whether engines are told whose sessions they serve, and when one is over, so that its prefixes go first (SGLang
    /// with `--enable-session-radix-cache`).
    pub(crate) lifecycle: bool,
    /// Whether engines keep the prefixes of one policy version from another's (SGLang, vLLM).
    pub(crate) salted: bool,
    /// Tokens at the engine at once, prompts and what is expected to be sampled: what its cache holds; 0: only turns
    /// are counted.
    pub(crate) tokens: u64,
    /// The most tokens that a turn is expected to sample, where `tokens` is reckoned.
    pub(crate) decode_cap: u32,
    /// Seconds that a turn for which there is no room lets smaller ones pass.
    pub(crate) patience_seconds: u64,
    /// Seconds that a turn may be held without progress.
    pub(crate) hold_seconds: u64,
    /// Seconds that a turn goes on after its client has left, so that a retry can join it.
    pub(crate) grace_seconds: u64,
    /// Seconds that a turn puts up with an engine that yields nothing but failures.
    pub(crate) outage_seconds: u64,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            lineage: "tree".into(),
            matcher: "loose_replay".into(),
            rollback: 1,
            tools_drift: "accept".into(),
            max_sessions: 0,
            max_mib: 1024,
            replay_mib: 2048,
            spill: None,
            idle_seconds: 0,
            turns: 256,
            adapters: false,
            lifecycle: false,
            salted: false,
            tokens: 0,
            decode_cap: 1024,
            patience_seconds: 30,
            hold_seconds: 600,
            grace_seconds: 10,
            outage_seconds: 300,
        }
    }
}
