//! The settings file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AgentConfig, EvalConfig, JournalConfig, RewardConfig, SessionsConfig};

/// All settings. What is absent has the default printed by `verbatim config`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// What samples.
    pub(crate) engine: EngineConfig,
    /// How messages become ids.
    pub(crate) family: FamilyConfig,
    /// How sessions behave.
    pub(crate) sessions: SessionsConfig,
    /// What sessions are kept in.
    pub(crate) journal: JournalConfig,
    /// Sampling where a request does not say.
    pub(crate) sampling: SamplingConfig,
    /// The HTTP server.
    pub(crate) server: ServerConfig,
    /// The user's Python callables.
    pub(crate) plugins: PluginsConfig,
    /// Logs and traces.
    pub(crate) log: LogConfig,
    /// `verbatim run`: the tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dataset: Option<DatasetConfig>,
    /// `verbatim run`: the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentConfig>,
    /// `verbatim run`: groups and rows.
    pub(crate) rollout: RolloutConfig,
    /// What the rollout is evaluated on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) eval: Vec<EvalConfig>,
    /// `verbatim run`: rewards and credit.
    pub(crate) reward: RewardConfig,
}

/// Which engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EngineKind {
    /// A model on the CPU, in this process.
    #[default]
    Embedded,
    /// Random text, for trying things out; no weights are loaded.
    Sim,
    /// Servers at `engine.urls`, of whatever kind they say they are.
    Http,
    /// SGLang servers.
    Sglang,
    /// vLLM servers.
    Vllm,
    /// llama.cpp servers.
    Llamacpp,
}

/// Who reads an engine's replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ParseKind {
    /// The family's own parser.
    #[default]
    Family,
    /// The engine's parsers, through its chat endpoint.
    Engine,
}

/// `[engine]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EngineConfig {
    /// Which engine.
    pub(crate) kind: EngineKind,
    /// A name that `verbatim pull` knows, a GGUF file, or a Hugging Face folder. Of servers only its
    /// tokenizer and chat template are read; `auto` is the folder that the server itself loaded.
    pub(crate) model: String,
    /// Servers: their URLs.
    pub(crate) urls: Vec<String>,
    /// Servers: a router in front of them; turns go there, control goes to `urls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) router: Option<String>,
    /// Servers: the file of their key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Servers: the file of the key of their control routes, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admin_key_file: Option<PathBuf>,
    /// Servers: `family` or `engine`.
    pub(crate) parse: ParseKind,
    /// Servers: attempts at one of them at once; 0 is no limit.
    pub(crate) permits: usize,
    /// Servers: whether routed experts are asked for, to be replayed in training.
    pub(crate) experts: bool,
    /// Servers: whether the choices of the indexer of sparse attention are asked for, likewise.
    pub(crate) indexer: bool,
    /// Servers: seconds that a reply may take or, where it is streamed, keep silent.
    pub(crate) silence_seconds: u64,
    /// Servers: seconds between looks at their health and load.
    pub(crate) watch_seconds: f64,
    /// Servers: `auto`, or which distribution their logprobs are of: `raw`, `tempered`, `processed`.
    pub(crate) logprobs: String,
    /// What may be lost: of `ids`, `logprobs`, `vocabulary`, `versions`. A server that loses anything
    /// else is refused at start-up.
    pub(crate) accept_loss: Vec<String>,
    /// Where pulled models are; else $VERBATIM_CACHE, else ~/.cache/verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<PathBuf>,
    /// `auto`, `f32` or `q8`.
    pub(crate) precision: String,
    /// Sequences that are stepped together.
    pub(crate) max_batch: usize,
    /// Tokens that prompt and reply together may hold; 0 is the model's own limit.
    pub(crate) max_context: usize,
    /// MiB for the prefixes of turns that are over.
    pub(crate) prefix_cache_mib: usize,
    /// `sim`: everything random follows from it.
    pub(crate) seed: u64,
    /// `sim`: mean tokens a turn.
    pub(crate) sim_tokens: usize,
    /// `sim`: a tool that about half of the turns call, with one argument, `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sim_tool: Option<String>,
    /// `sim`: microseconds a token.
    pub(crate) sim_token_us: u64,
    /// `sim`: tokens an increment.
    pub(crate) sim_chunk: usize,
    /// `sim`: a file of what it says where (one JSON object a line); where none applies, random words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sim_script: Option<PathBuf>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            kind: EngineKind::default(),
            model: "smollm2-135m-instruct".into(),
            urls: Vec::new(),
            router: None,
            api_key_file: None,
            admin_key_file: None,
            parse: ParseKind::Family,
            permits: 0,
            experts: false,
            indexer: false,
            silence_seconds: 1800,
            watch_seconds: 2.0,
            logprobs: "auto".into(),
            accept_loss: Vec::new(),
            cache: None,
            precision: "auto".into(),
            max_batch: 16,
            max_context: 0,
            prefix_cache_mib: 1024,
            seed: 0,
            sim_tokens: 40,
            sim_tool: None,
            sim_token_us: 0,
            sim_chunk: 1,
            sim_script: None,
        }
    }
}

/// `[family]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FamilyConfig {
    /// A family's name, or `auto` to tell it from the model.
    pub(crate) name: String,
    /// `default`: a Jinja file in place of the model's own template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chat_template: Option<PathBuf>,
    /// How reasoning is parsed, by SGLang's name. `auto` is a named family's own; of `default` it is `none`.
    /// A named family refuses another one than its own.
    pub(crate) reasoning_parser: String,
    /// How tool calls are parsed, by SGLang's name. `auto` is a named family's own; of `default` it is
    /// `hermes`.
    pub(crate) tool_call_parser: String,
    /// Families that show images: an image has at least this many pixels, as the engine's `preprocessor_config.json`
    /// says (`min_pixels`, or `size.shortest_edge`); without it what the model came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_pixels: Option<u64>,
    /// And at most this many (`max_pixels`, or `size.longest_edge`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_pixels: Option<u64>,
    /// Template arguments under each request's own.
    pub(crate) template_arguments: Map<String, Value>,
}

impl Default for FamilyConfig {
    fn default() -> Self {
        Self {
            name: "auto".into(),
            chat_template: None,
            reasoning_parser: "auto".into(),
            tool_call_parser: "auto".into(),
            min_pixels: None,
            max_pixels: None,
            template_arguments: Map::new(),
        }
    }
}

/// `[sampling]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SamplingConfig {
    /// 0 is greedy.
    pub(crate) temperature: f32,
    /// In (0, 1]; 1 is off.
    pub(crate) top_p: f32,
    /// 0 is off.
    pub(crate) top_k: u32,
    /// Tokens a turn; 0 is all that the context leaves.
    pub(crate) max_tokens: u32,
    /// What every turn is sampled with, whatever its request says: `pin = { temperature = 1.0 }`.
    pub(crate) pin: Map<String, Value>,
}

impl Default for SamplingConfig {
    fn default() -> Self {
        Self { temperature: 1.0, top_p: 1.0, top_k: 0, max_tokens: 0, pin: Map::new() }
    }
}

/// `[server]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    /// Address and port; port 0 takes a free one.
    pub(crate) listen: String,
    /// The file of the control key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) control_key_file: Option<PathBuf>,
    /// Networks whose hosts need no control key: `["10.0.0.0/8"]`.
    pub(crate) trust_cidr: Vec<String>,
    /// Whether every stream is one chunk with the whole reply, as Miles' are.
    pub(crate) one_chunk: bool,
    /// Paths of an engine's own, without a leading slash, that are passed on under a session's URL; absent is a
    /// list that generates, tokenises and tells what the engine is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<Vec<String>>,
    /// MiB of a request's body.
    pub(crate) body_mib: usize,
    /// KiB of a request's head.
    pub(crate) head_kib: usize,
    /// Connections at once.
    pub(crate) connections: usize,
    /// Seconds that a connection may be idle between two requests, or take to send a request's head.
    pub(crate) idle_seconds: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8377".into(),
            control_key_file: None,
            trust_cidr: Vec::new(),
            one_chunk: false,
            passed: None,
            body_mib: 64,
            head_kib: 64,
            connections: 4096,
            idle_seconds: 900,
        }
    }
}

/// `[plugins]`: Python callables, run in a process of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PluginsConfig {
    /// The interpreter, where the package `verbatim` must be importable; else the one beside the binary, or `python3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<String>,
    /// Folders that modules are found in, before the installed ones.
    pub(crate) search_paths: Vec<PathBuf>,
    /// Worker processes.
    pub(crate) workers: usize,
    /// Seconds that one call may take.
    pub(crate) deadline_seconds: u64,
    /// Which leaves become rows: `drop_retries`, `all`, or the dotted path of a function.
    pub(crate) picker: String,
    /// The dotted path of a function that makes the final rows of the picked ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) postprocessor: Option<String>,
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            python: None,
            search_paths: Vec::new(),
            workers: 2,
            deadline_seconds: 60,
            picker: "drop_retries".into(),
            postprocessor: None,
        }
    }
}

/// `[log]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogConfig {
    /// What is logged, as `RUST_LOG` has it.
    pub(crate) filter: String,
    /// Log lines as JSON.
    pub(crate) json: bool,
    /// Where spans go: an OTLP/HTTP endpoint such as `http://localhost:4318`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) otlp: Option<String>,
    /// Every event as a line of JSON, appended to this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<PathBuf>,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "warn,verbatim=info".into(), json: false, otlp: None, events: None }
    }
}

/// `[dataset]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatasetConfig {
    /// A `.jsonl` or `.parquet` file.
    pub(crate) path: PathBuf,
    /// The column of the prompt.
    #[serde(default = "input_key")]
    pub(crate) input_key: String,
    /// The column of the agent's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata_key: Option<String>,
    /// The column of what a reward function compares with; agents are not given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_key: Option<String>,
    /// For each kind of media its column: `{ image = "images" }`.
    #[serde(default)]
    pub(crate) multimodal_keys: BTreeMap<String, String>,
    /// Take only so many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    /// How often the rows are gone through; 0 is without end. Else once by `verbatim run`, without end by
    /// `verbatim serve --rollout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) epochs: Option<u64>,
    /// A seed: each time they come in another order. Else always in their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shuffle: Option<u64>,
    /// Tasks that an earlier rollout took, as it said itself: this one goes on behind them.
    #[serde(default)]
    pub(crate) taken: u64,
}

fn input_key() -> String {
    "input".into()
}

/// `[rollout]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RolloutConfig {
    /// Sessions a group.
    pub(crate) group_size: usize,
    /// Keep a group in which at least so many sessions succeeded; 0 is all of them.
    pub(crate) keep_at_least: usize,
    /// How often a failed session is run again.
    pub(crate) retries: u32,
    /// What a failed session does to its group, in one word that stands for the two before: `drop_group`,
    /// `retry_session`, or `accept(K)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_session_failure: Option<String>,
    /// After how many failed groups in a row, none scored between them, the rollout ends with an error; 0: it goes on.
    pub(crate) give_up: u32,
    /// How rollout and training take turns: `sync` drops at a step's end what is not finished, `partial`
    /// holds it for the next step, `async` goes on while the trainer trains.
    pub(crate) mode: String,
    /// Groups a step; 0: the whole dataset is one step.
    pub(crate) batch: usize,
    /// Groups that run beyond the step's, so that it need not wait for the slowest.
    pub(crate) over_sampling: usize,
    /// Groups that may be there at once; 0: as many as keep all agents busy.
    pub(crate) resident: usize,
    /// Whether groups warm up before a step has room for them; needs `barrier_seconds`.
    pub(crate) prelaunch: bool,
    /// Seconds from the start of a group's last agent until all its first requests must be there; 0: no
    /// barrier, each agent goes on at once.
    pub(crate) barrier_seconds: u64,
    /// In mode `partial`: a group of which a session was aborted so often is aborted no more; 0 is no limit.
    pub(crate) max_aborted_count: u32,
    /// In mode `async`: how many steps may lie between the weights that a group began with and those that its
    /// step is trained on.
    pub(crate) staleness: u64,
    /// What agents are told that they run for: `train` or `eval`.
    pub(crate) purpose: String,
    /// Which leaves become rows: `drop_retries` or `all`.
    pub(crate) pick: String,
    /// No row is longer; 0 is no limit.
    pub(crate) max_seq_len: usize,
    /// Steps; 0: as many as the dataset makes.
    pub(crate) steps: u64,
    /// Who takes rows: `folder`, `store` (an object store), or `pull` for a trainer that comes for them. `auto`:
    /// `verbatim run` writes to `output`, `verbatim serve --rollout` is asked.
    pub(crate) sink: String,
    /// The folder, or the URL of the object store: `s3://bucket/run`.
    pub(crate) output: PathBuf,
    /// `parquet`, `safetensors` or `jsonl`.
    pub(crate) format: String,
}

impl Default for RolloutConfig {
    fn default() -> Self {
        Self {
            group_size: 4,
            keep_at_least: 0,
            retries: 1,
            on_session_failure: None,
            give_up: 32,
            mode: "sync".into(),
            batch: 0,
            over_sampling: 0,
            resident: 0,
            prelaunch: false,
            barrier_seconds: 0,
            max_aborted_count: 0,
            staleness: 0,
            purpose: "train".into(),
            pick: "drop_retries".into(),
            max_seq_len: 0,
            steps: 0,
            sink: "auto".into(),
            output: "rollouts".into(),
            format: "parquet".into(),
        }
    }
}
