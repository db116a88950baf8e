//! How a server's sessions behave.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use verbatim_chat::{LooseReplay, Matcher};
use verbatim_dialects::Sampling;
use verbatim_engine::Params;
use verbatim_forest::Lineage;

/// Settings of all sessions of a process.
#[derive(Clone)]
pub struct Settings {
    /// How sessions grow, unless they are opened otherwise.
    pub lineage: Lineage,
    /// Which replayed messages are the same.
    pub matcher: Arc<dyn Matcher>,
    /// Template arguments laid under each request's own.
    pub template: Map<String, Value>,
    /// What the sampler does where a request does not say.
    pub sampling: SamplingDefaults,
    /// Turns that may be at the engine at once.
    pub turns: usize,
    /// Agents that may live at once.
    pub agents: usize,
    /// How long a turn may be held without progress.
    pub hold: Duration,
    /// How long a turn puts up with an engine that yields nothing but failures.
    pub outage: Duration,
    /// Whether routed experts are asked for, of an engine that reports them.
    pub experts: bool,
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
            matcher: Arc::new(LooseReplay),
            template: Map::new(),
            sampling: SamplingDefaults::default(),
            turns: 256,
            agents: 64,
            hold: Duration::from_secs(600),
            outage: Duration::from_secs(300),
            experts: false,
        }
    }
}

impl SamplingDefaults {
    /// Complete parameters for a prompt that leaves `room` tokens.
    pub(crate) fn complete(
        &self,
        asked: &Sampling,
        room: u32,
        stop_ids: &[verbatim_tokens::TokenId],
    ) -> Params {
        Params {
            max_tokens: asked.max_tokens.or(self.max_tokens).unwrap_or(room).min(room),
            temperature: asked.temperature.unwrap_or(self.temperature),
            top_p: asked.top_p.unwrap_or(self.top_p),
            top_k: asked.top_k.or(self.top_k),
            min_p: asked.min_p.unwrap_or_default(),
            presence_penalty: asked.presence_penalty.unwrap_or_default(),
            frequency_penalty: asked.frequency_penalty.unwrap_or_default(),
            stop_ids: stop_ids.to_vec(),
            stop: Vec::new(),
            lora: None,
            seed: asked.seed,
            top_logprobs: asked.top_logprobs,
        }
    }
}
