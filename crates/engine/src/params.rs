//! How to sample.

use std::sync::Arc;

use verbatim_tokens::TokenId;

use crate::Form;

/// Sampling parameters, engine-neutral and complete: an engine is never left to its own defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// At most this many tokens, stop token included.
    pub max_tokens: u32,
    /// 0 is greedy.
    pub temperature: f32,
    /// Nucleus mass in (0, 1]; 1 is off.
    pub top_p: f32,
    /// Keep the k most likely; `None` is off.
    pub top_k: Option<u32>,
    /// Drop tokens less likely than this share of the most likely one; 0 is off.
    pub min_p: f32,
    /// Subtracted once from the logit of every token already sampled in this turn.
    pub presence_penalty: f32,
    /// Subtracted from the logit of a token for each time it was sampled in this turn.
    pub frequency_penalty: f32,
    /// What the logit of a token that was read or sampled is divided by (if positive; else multiplied with);
    /// 1 is off. For an engine that has it ([`crate::Capabilities::repetition_penalty`]).
    pub repetition_penalty: f32,
    /// Before so many tokens no stop token is sampled; 0 is off. For an engine that has it
    /// ([`crate::Capabilities::min_tokens`]).
    pub min_tokens: u32,
    /// Ids that end the turn; the one that did is part of the reply.
    pub stop_ids: Vec<TokenId>,
    /// Texts that end the turn, for an engine that looks for them ([`crate::Capabilities::stop_strings`]).
    /// The ids that completed one are part of the reply.
    pub stop: Vec<String>,
    /// What the reply must be, for an engine that can hold it to that ([`crate::Capabilities::forms`]); `None`
    /// leaves it to the model. It is about what this attempt samples, from its first token on.
    pub form: Option<Arc<Form>>,
    /// The adapter to sample with, by the name that the engine knows it by; `None` is the base model.
    pub lora: Option<Arc<str>>,
    /// Seed of the sampler; `None` lets the engine choose.
    pub seed: Option<u64>,
    /// How many alternatives to report a token.
    pub top_logprobs: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_tokens: 1024,
            temperature: 1.0,
            top_p: 1.0,
            top_k: None,
            min_p: 0.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repetition_penalty: 1.0,
            min_tokens: 0,
            stop_ids: Vec::new(),
            stop: Vec::new(),
            form: None,
            lora: None,
            seed: None,
            top_logprobs: 0,
        }
    }
}
