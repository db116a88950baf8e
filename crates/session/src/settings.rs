//! How a server's sessions behave.

use std::time::Duration;

use serde_json::{Map, Value};
use verbatim_dialects::Sampling;
use verbatim_engine::Params;
use verbatim_forest::Lineage;
use verbatim_scheduler::{Budget, Rules};
use verbatim_tokens::TokenId;

use crate::{Matching, SpillOptions};

/// Settings of all sessions of a process.
#[derive(Clone)]
pub struct Settings {
    /// How sessions grow, unless they are opened otherwise.
    pub lineage: Lineage,
    /// Which replayed messages are the same.
    pub matching: Matching,
    /// How many turns a request may take back in a linear session.
    pub rollback: usize,
    /// What a session does about tools or template arguments that change.
    pub tools_drift: ToolsDrift,
    /// How much of the process sessions may take up.
    pub quota: Quota,
    /// Where replay payloads are kept.
    pub spill: SpillOptions,
    /// Template arguments laid under each request's own.
    pub template: Map<String, Value>,
    /// What the sampler does where a request does not say.
    pub sampling: SamplingDefaults,
    /// What the sampler does whatever a request says.
    pub pinned: Sampling,
    /// Whether sessions are sampled with the adapters that a trainer publishes.
    pub adapters: bool,
    /// Whether engines are told whose sessions they serve, and when one is over.
    pub lifecycle: bool,
    /// Whether engines keep prefixes of one policy version from another's.
    pub salted: bool,
    /// Turns that may be at the engine at once.
    pub turns: usize,
    /// Tokens that may be at the engine at once, prompts and what is expected to be sampled; `None`: turns alone
    /// are counted.
    pub budget: Option<Budget>,
    /// The most tokens that a turn is expected to sample, where the budget is reckoned.
    pub decode_cap: u32,
    /// How Groups are rolled out; `None`: there are none.
    pub resident: Option<Rules>,
    /// How long a turn may be held without progress.
    pub hold: Duration,
    /// How long a turn goes on for which nobody waits: its client may have lost the connection and try again.
    pub grace: Duration,
    /// How long a turn puts up with an engine that yields nothing but failures.
    pub outage: Duration,
    /// Whether routed experts are asked for, of an engine that reports them.
    pub experts: bool,
    /// Whether the choices of the indexer of sparse attention are asked for, of an engine that reports them.
    pub indexer: bool,
}

/// What a session does about tools or template arguments that differ from those it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolsDrift {
    /// A tree begins another root with them; a linear session keeps its prompt, as Miles does, and renders
    /// what is new under them.
    #[default]
    Accept,
    /// The request is refused.
    Refuse,
}

/// How much of the process sessions may take up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Sessions open at once; `None` is no limit.
    pub sessions: Option<usize>,
    /// Bytes that one session may hold before it takes no more turns; `None` is no limit.
    pub session_bytes: Option<usize>,
    /// How long a session may be left alone before it is reclaimed; `None` is forever.
    pub idle: Option<Duration>,
}

impl Default for Quota {
    /// No limit but a gigabyte a session.
    fn default() -> Self {
        Self { sessions: None, session_bytes: Some(1 << 30), idle: None }
    }
}

/// Sampling where a request does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingDefaults {
    /// At most this many tokens; `None` is all that the context leaves.
    pub max_tokens: Option<u32>,
    /// Temperature.
    pub temperature: f32,
    /// Nucleus mass.
    pub top_p: f32,
    /// The k most likely; `None` is off.
    pub top_k: Option<u32>,
}

impl Default for SamplingDefaults {
    /// OpenAI's: the model's own distribution.
    fn default() -> Self {
        Self { max_tokens: None, temperature: 1.0, top_p: 1.0, top_k: None }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lineage: Lineage::default(),
            matching: Matching::default(),
            rollback: 1,
            tools_drift: ToolsDrift::default(),
            quota: Quota::default(),
            spill: SpillOptions::default(),
            template: Map::new(),
            sampling: SamplingDefaults::default(),
            pinned: Sampling::default(),
            turns: 256,
            adapters: false,
            lifecycle: false,
            salted: false,
            budget: None,
            decode_cap: 1024,
            resident: None,
            hold: Duration::from_secs(600),
            grace: Duration::from_secs(10),
            outage: Duration::from_secs(300),
            experts: false,
            indexer: false,
        }
    }
}

impl SamplingDefaults {
    /// Complete parameters for a prompt that leaves `room` tokens.
    pub(crate) fn complete(&self, asked: &Sampling, room: u32, stop_ids: &[TokenId]) -> Params {
        Params {
            max_tokens: asked.max_tokens.or(self.max_tokens).unwrap_or(room).min(room),
            temperature: asked.temperature.unwrap_or(self.temperature),
            top_p: asked.top_p.unwrap_or(self.top_p),
            top_k: asked.top_k.or(self.top_k),
            min_p: asked.min_p.unwrap_or_default(),
            presence_penalty: asked.presence_penalty.unwrap_or_default(),
            frequency_penalty: asked.frequency_penalty.unwrap_or_default(),
            repetition_penalty: asked.repetition_penalty.unwrap_or(1.0),
            min_tokens: asked.min_tokens.unwrap_or_default(),
            stop_ids: stop_ids.iter().copied().chain(asked.stop_ids.iter().copied().map(TokenId)).collect(),
            stop: Vec::new(),
            form: None,
            lora: None,
            seed: asked.seed,
            top_logprobs: asked.top_logprobs,
        }
    }
}
