//! The settings file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// All settings. What is absent has the default printed by `verbatim config`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What samples.
    pub engine: EngineConfig,
    /// How messages become ids.
    pub family: FamilyConfig,
    /// How sessions behave.
    pub sessions: SessionsConfig,
    /// Sampling where a request does not say.
    pub sampling: SamplingConfig,
    /// The HTTP server.
    pub server: ServerConfig,
    /// Logs and traces.
    pub log: LogConfig,
    /// `verbatim run`: the tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetConfig>,
    /// `verbatim run`: the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentConfig>,
    /// `verbatim run`: groups and rows.
    pub rollout: RolloutConfig,
}

/// Which engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// A model on the CPU, in this process.
    #[default]
    Embedded,
    /// Random text, for trying things out; no weights are loaded.
    Sim,
}

/// `[engine]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// Which engine.
    pub kind: EngineKind,
    /// A name that `verbatim pull` knows, a GGUF file, or a Hugging Face folder.
    pub model: String,
    /// Where pulled models are; else $VERBATIM_CACHE, else ~/.cache/verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PathBuf>,
    /// `auto`, `f32` or `q8`.
    pub precision: String,
    /// Sequences that are stepped together.
    pub max_batch: usize,
    /// Tokens that prompt and reply together may hold; 0 is the model's own limit.
    pub max_context: usize,
    /// MiB for the prefixes of turns that are over.
    pub prefix_cache_mib: usize,
    /// `sim`: everything random follows from it.
    pub seed: u64,
    /// `sim`: mean tokens a turn.
    pub sim_tokens: usize,
    /// `sim`: microseconds a token.
    pub sim_token_us: u64,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            kind: EngineKind::default(),
            model: "smollm2-135m-instruct".into(),
            cache: None,
            precision: "auto".into(),
            max_batch: 16,
            max_context: 0,
            prefix_cache_mib: 1024,
            seed: 0,
            sim_tokens: 40,
            sim_token_us: 0,
        }
    }
}

/// `[family]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FamilyConfig {
    /// A family's name, or `auto` to tell it from the model.
    pub name: String,
    /// `default`: a Jinja file in place of the model's own template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<PathBuf>,
    /// `default`: how reasoning is parsed, by SGLang's name.
    pub reasoning_parser: String,
    /// `default`: how tool calls are parsed, by SGLang's name.
    pub tool_call_parser: String,
    /// Template arguments under each request's own.
    pub template_arguments: Map<String, Value>,
}

impl Default for FamilyConfig {
    fn default() -> Self {
        Self {
            name: "auto".into(),
            chat_template: None,
            reasoning_parser: "none".into(),
            tool_call_parser: "hermes".into(),
            template_arguments: Map::new(),
        }
    }
}

/// `[sessions]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionsConfig {
    /// `tree` or `linear`.
    pub lineage: String,
    /// `loose_replay` or `strict`.
    pub matcher: String,
    /// Turns at the engine at once.
    pub turns: usize,
    /// Seconds that a turn may be held without progress.
    pub hold_seconds: u64,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self { lineage: "tree".into(), matcher: "loose_replay".into(), turns: 256, hold_seconds: 600 }
    }
}

/// `[sampling]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingConfig {
    /// 0 is greedy.
    pub temperature: f32,
    /// In (0, 1]; 1 is off.
    pub top_p: f32,
    /// 0 is off.
    pub top_k: u32,
    /// Tokens a turn; 0 is all that the context leaves.
    pub max_tokens: u32,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, top_k: 0, max_tokens: 0 }
    }
}

/// `[server]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: String,
    /// The file of the control key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_key_file: Option<PathBuf>,
    /// MiB of a request's body.
    pub body_mib: usize,
    /// KiB of a request's head.
    pub head_kib: usize,
    /// Connections at once.
    pub connections: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8377".into(),
            control_key_file: None,
            body_mib: 64,
            head_kib: 64,
            connections: 4096,
        }
    }
}

/// `[log]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// What is logged, as `RUST_LOG` has it.
    pub filter: String,
    /// Log lines as JSON.
    pub json: bool,
    /// Where spans go: an OTLP/HTTP endpoint such as `http://localhost:4318`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp: Option<String>,
    /// Every event as a line of JSON, appended to this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<PathBuf>,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "warn,verbatim=info".into(), json: false, otlp: None, events: None }
    }
}

/// `[dataset]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetConfig {
    /// A `.jsonl` or `.parquet` file.
    pub path: PathBuf,
    /// The column of the prompt.
    #[serde(default = "input_key")]
    pub input_key: String,
    /// The column of the agent's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata_key: Option<String>,
    /// For each kind of media its column: `{ image = "images" }`.
    #[serde(default)]
    pub multimodal_keys: BTreeMap<String, String>,
    /// Take only so many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

fn input_key() -> String {
    "input".into()
}

/// `[agent]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The command, run by `bash -lc`.
    pub command: String,
    /// A command that is run once before any agent, to build or install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Where both run.
    #[serde(default = "here")]
    pub cwd: PathBuf,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Seconds that an agent may live.
    #[serde(default = "agent_seconds")]
    pub timeout_seconds: u64,
    /// Seconds between being told to end and being killed.
    #[serde(default = "grace_seconds")]
    pub grace_seconds: u64,
    /// Agents at once.
    #[serde(default = "agents_at_once")]
    pub concurrency: usize,
}

fn here() -> PathBuf {
    ".".into()
}

fn agent_seconds() -> u64 {
    1800
}

fn grace_seconds() -> u64 {
    5
}

fn agents_at_once() -> usize {
    8
}

/// `[rollout]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RolloutConfig {
    /// Sessions a group.
    pub group_size: usize,
    /// Keep a group in which at least so many sessions succeeded; 0 is all of them.
    pub keep_at_least: usize,
    /// How often a failed session is run again.
    pub retries: u32,
    /// `train` or `eval`.
    pub mode: String,
    /// Which leaves become rows: `drop_retries` or `all`.
    pub pick: String,
    /// No row is longer; 0 is no limit.
    pub max_seq_len: usize,
    /// Where rows go.
    pub output: PathBuf,
    /// `parquet`, `safetensors` or `jsonl`.
    pub format: String,
}

impl Default for RolloutConfig {
    fn default() -> Self {
        Self {
            group_size: 4,
            keep_at_least: 0,
            retries: 1,
            mode: "train".into(),
            pick: "drop_retries".into(),
            max_seq_len: 0,
            output: "rollouts".into(),
            format: "parquet".into(),
        }
    }
}
