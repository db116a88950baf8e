//! What kind of server a mock is.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::{Experts, Images};

/// From ids to text.
pub type Decoder = Arc<dyn Fn(&[u32]) -> String + Send + Sync>;
/// From a turn's ids to the `message` of a chat reply.
pub type Parser = Arc<dyn Fn(&[u32]) -> Value + Send + Sync>;

/// Whose contract a mock speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// SGLang 0.5.23: `/generate`, `/v1/chat/completions` and the control plane.
    Sglang,
    /// vLLM 0.33: `/inference/v1/generate`, the OpenAI routes with ids and the control plane.
    Vllm,
    /// llama.cpp's server: `/completion`.
    LlamaCpp,
}

/// How a mock is set up; what a real server has flags for.
#[derive(Clone)]
pub struct Options {
    /// Whose contract it speaks.
    pub wire: Wire,
    /// The port; 0 is any free one.
    pub port: u16,
    /// SGLang: `--incremental-streaming-output`. Without it every chunk repeats the whole reply.
    pub incremental: bool,
    /// The version at start-up. Without one, tokens carry what the engine says, or else `default`;
    /// an update over HTTP or [`crate::Mock::set_version`] wins over both.
    pub weight_version: Option<String>,
    /// The key of normal routes.
    pub api_key: Option<String>,
    /// SGLang: the key of control routes, where the normal one is then refused.
    pub admin_key: Option<String>,
    /// The served model's name.
    pub model: String,
    /// LoRA adapters that are loaded; others are refused.
    pub adapters: Vec<String>,
    /// Tokens that prompt and reply may hold; without it what the engine says.
    pub context: Option<usize>,
    /// Ids are below this; without it what the engine says.
    pub vocabulary: Option<usize>,
    /// The model's own end-of-turn ids, which stop unless `ignore_eos` is asked for.
    pub eos: Vec<u32>,
    /// A mixture of experts that reports its routes; without it `return_routed_experts` is silently
    /// ignored, as without the server's flag.
    pub experts: Option<Experts>,
    /// An indexer that reports its choices under `return_indexer_topk` (SGLang); drawn like routes of experts.
    pub indexer: Option<Experts>,
    /// SGLang: a model that reads images; without it `image_data` is refused.
    pub images: Option<Images>,
    /// SGLang as 0.5.17 was seen to behave: a sampling key that it does not know is a plain 500, an id
    /// outside the vocabulary takes the connection down, there is no `/ready`, no span of versions and
    /// no `launch_command`. vLLM as 0.32 was seen to behave: while paused it holds new requests in every
    /// mode instead of refusing them.
    pub legacy: bool,
    /// Whether spans of weight versions are reported, or (as by older servers) only the scalar.
    pub spans: bool,
    /// Requests that sample at once; more wait. 0 is no limit.
    pub max_running: usize,
    /// Requests that may wait; one more is refused with 503. Counts only with `max_running`.
    pub max_queued: Option<usize>,
    /// What gives the replies' text. Without it SGLang sends none and stop strings are refused, as
    /// under `--skip-tokenizer-init` and `--tokens-only`; vLLM and llama.cpp send empty text.
    pub decode: Option<Decoder>,
    /// What gives the message of a chat reply; without it its content is the decoded text.
    pub parse: Option<Parser>,
    /// vLLM: whether `/inference/v1/*` is enabled; if not it answers 403.
    pub tokens_api: bool,
    /// vLLM: whether the control plane is there (`VLLM_SERVER_DEV_MODE=1`); if not it is 404.
    pub dev_mode: bool,
    /// llama.cpp: these ids end inside a character: they are neither streamed nor given a
    /// probability, yet the whole reply's `tokens` have them.
    pub incomplete: Vec<u32>,
    /// How long a deep health check waits behind a pause before it says 503.
    pub health_wait: Duration,
    /// Whether requests are kept for [`crate::Mock::seen`] and [`crate::Mock::asked`]; not under load.
    pub record: bool,
    /// What `/server_info` or `/version` says.
    pub version: String,
}

impl Options {
    /// A server of this kind with every switch as the real one's default, routes of experts off and
    /// spans on.
    pub fn new(wire: Wire) -> Self {
        let version = match wire {
            Wire::Sglang => "0.5.23",
            Wire::Vllm => "0.33.0",
            Wire::LlamaCpp => "b0-mock",
        };
        Self {
            wire,
            port: 0,
            incremental: false,
            weight_version: None,
            api_key: None,
            admin_key: None,
            model: "policy".into(),
            adapters: Vec::new(),
            context: None,
            vocabulary: None,
            eos: Vec::new(),
            experts: None,
            indexer: None,
            images: None,
            legacy: false,
            spans: true,
            max_running: 0,
            max_queued: None,
            decode: None,
            parse: None,
            tokens_api: true,
            dev_mode: true,
            incomplete: Vec::new(),
            health_wait: Duration::from_secs(1),
            record: true,
            version: version.into(),
        }
    }
}
