//! What vLLM is asked.
//!
//! `/inference/v1/generate` ignores sampling keys that it does not know, so every name here is one of
//! its own `SamplingParams`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use verbatim_engine::{AttemptId, EngineError, Params, Prompt};
use verbatim_tokens::TokenId;

use crate::form::Spelt;

#[derive(Serialize)]
pub(crate) struct Generate<'a> {
    request_id: String,
    model: &'a str,
    token_ids: &'a [TokenId],
    sampling_params: SamplingParams<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<&'a str>,
    /// A form is about the first token on; where the server has a reasoning parser it would wait for its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_ended: Option<bool>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct SamplingParams<'a> {
    #[serde(flatten)]
    shared: Sampling<'a>,
    logprobs: u8,
    /// Stop strings need text.
    detokenize: bool,
    n: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    routed_experts_prompt_start: Option<usize>,
}

/// The same on every route.
#[derive(Serialize)]
pub(crate) struct Sampling<'a> {
    max_tokens: u32,
    temperature: f32,
    top_p: f32,
    top_k: u32,
    min_p: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    repetition_penalty: f32,
    min_tokens: u32,
    stop_token_ids: &'a [TokenId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    skip_special_tokens: bool,
    include_stop_str_in_output: bool,
    ignore_eos: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_outputs: Option<Structured<'a>>,
}

/// One of these.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Structured<'a> {
    Json(&'a RawValue),
    Regex(&'a str),
    Grammar(&'a str),
    /// As text.
    StructuralTag(Cow<'a, str>),
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
pub(crate) struct Complete<'a> {
    request_id: String,
    model: &'a str,
    prompt: &'a [TokenId],
    #[serde(flatten)]
    sampling: Sampling<'a>,
    logprobs: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<&'a str>,
    return_token_ids: bool,
    return_weight_versions: bool,
    stream: bool,
    stream_options: StreamOptions,
}

impl<'a> Sampling<'a> {
    /// # Errors
    /// [`EngineError::Refused`] for a form that is malformed.
    pub(crate) fn new(params: &'a Params) -> Result<Self, EngineError> {
        let structured = params.form.as_deref().map(Spelt::new).transpose()?.map(|form| match form {
            Spelt::Json(schema) => Structured::Json(schema),
            Spelt::Regex(pattern) => Structured::Regex(pattern),
            Spelt::Grammar(grammar) => Structured::Grammar(grammar),
            Spelt::Tag(tag) => Structured::StructuralTag(tag),
        });
        Ok(Self {
            max_tokens: params.max_tokens,
            temperature: params.temperature,
            top_p: params.top_p,
            top_k: params.top_k.unwrap_or(0),
            min_p: params.min_p,
            presence_penalty: params.presence_penalty,
            frequency_penalty: params.frequency_penalty,
            repetition_penalty: params.repetition_penalty,
            min_tokens: params.min_tokens,
            stop_token_ids: &params.stop_ids,
            stop: &params.stop,
            // A signed 64-bit number there.
            seed: params.seed.map(|seed| seed & i64::MAX as u64),
            skip_special_tokens: false,
            include_stop_str_in_output: true,
            ignore_eos: false,
            structured_outputs: structured,
        })
    }
}

impl<'a> Generate<'a> {
    /// # Errors
    /// As [`Sampling::new`].
    pub(crate) fn new(
        id: AttemptId,
        model: &'a str,
        prompt: &'a Prompt,
        params: &'a Params,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            request_id: id.to_string(),
            model,
            token_ids: &prompt.ids,
            sampling_params: SamplingParams {
                shared: Sampling::new(params)?,
                logprobs: params.top_logprobs,
                detokenize: !params.stop.is_empty(),
                n: 1,
                routed_experts_prompt_start: prompt.experts_from,
            },
            cache_salt: prompt.salt.as_deref(),
            reasoning_ended: params.form.is_some().then_some(true),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        })
    }
}

impl<'a> Complete<'a> {
    /// # Errors
    /// As [`Sampling::new`].
    pub(crate) fn new(
        id: AttemptId,
        model: &'a str,
        prompt: &'a Prompt,
        params: &'a Params,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            request_id: id.to_string(),
            model,
            prompt: &prompt.ids,
            sampling: Sampling::new(params)?,
            logprobs: params.top_logprobs,
            cache_salt: prompt.salt.as_deref(),
            return_token_ids: true,
            return_weight_versions: true,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        })
    }
}
