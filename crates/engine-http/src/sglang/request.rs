//! What SGLang's `/generate` is asked.
//!
//! Its schema is closed: a field that is absent is omitted, never `null`, and every default that a
//! server could change is sent. Beside images it is sent one placeholder for each: only then does it keep the other ids
//! as they are (0.5.17 decodes and encodes a prompt anew whose placeholders are more than its images), so it is asked
//! to tell what it made of them.

use std::borrow::Cow;

use serde::Serialize;
use verbatim_engine::{AttemptId, EngineError, Params, Prompt};
use verbatim_tokens::TokenId;

use crate::form::Spelt;

/// Tokens a chunk of a reply that tells the whole prompt in every chunk.
const SHOWN_INTERVAL: u32 = 16;

#[derive(Serialize)]
pub(crate) struct Generate<'a> {
    rid: String,
    input_ids: Cow<'a, [TokenId]>,
    /// Every image of the prompt, one for each placeholder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_data: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_prompt_token_ids: Option<bool>,
    sampling_params: Sampling<'a>,
    return_logprob: bool,
    /// Of the reply only: any smaller value would bypass the prefix cache.
    logprob_start_len: i64,
    #[serde(skip_serializing_if = "is_zero")]
    top_logprobs_num: u8,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_routed_experts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routed_experts_start_len: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_indexer_topk: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lora_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Sampling<'a> {
    max_new_tokens: u32,
    temperature: f32,
    top_p: f32,
    top_k: i64,
    min_p: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    repetition_penalty: f32,
    #[serde(skip_serializing_if = "is_none")]
    min_new_tokens: u32,
    stop_token_ids: &'a [TokenId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_interval: Option<u32>,
    skip_special_tokens: bool,
    no_stop_trim: bool,
    ignore_eos: bool,
    n: u32,
    /// A schema as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regex: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ebnf: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structural_tag: Option<Cow<'a, str>>,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl<'a> Generate<'a> {
    /// # Errors
    /// [`EngineError::Refused`] for a form that is malformed.
    pub(crate) fn new(
        id: AttemptId,
        prompt: &'a Prompt,
        params: &'a Params,
        stream: bool,
    ) -> Result<Self, EngineError> {
        let shows = !prompt.images.is_empty();
        let mut sampling_params = Sampling {
            max_new_tokens: params.max_tokens,
            temperature: params.temperature,
            top_p: params.top_p,
            top_k: params.top_k.map_or(-1, i64::from),
            min_p: params.min_p,
            presence_penalty: params.presence_penalty,
            frequency_penalty: params.frequency_penalty,
            repetition_penalty: params.repetition_penalty,
            min_new_tokens: params.min_tokens,
            stop_token_ids: &params.stop_ids,
            stop: &params.stop,
            // A signed 64-bit number there.
            sampling_seed: params.seed.map(|seed| seed & i64::MAX as u64),
            // Every chunk tells the whole prompt.
            stream_interval: shows.then_some(SHOWN_INTERVAL),
            skip_special_tokens: false,
            no_stop_trim: true,
            ignore_eos: false,
            n: 1,
            json_schema: None,
            regex: None,
            ebnf: None,
            structural_tag: None,
        };
        match params.form.as_deref().map(Spelt::new).transpose()? {
            None => {}
            Some(Spelt::Json(schema)) => sampling_params.json_schema = Some(schema.get()),
            Some(Spelt::Regex(pattern)) => sampling_params.regex = Some(pattern),
            Some(Spelt::Grammar(grammar)) => sampling_params.ebnf = Some(grammar),
            Some(Spelt::Tag(tag)) => sampling_params.structural_tag = Some(tag),
        }
        Ok(Self {
            rid: id.to_string(),
            input_ids: prompt.collapsed(),
            image_data: prompt.images.iter().map(|image| image.image.data_url()).collect(),
            return_prompt_token_ids: shows.then_some(true),
            sampling_params,
            return_logprob: true,
            logprob_start_len: -1,
            top_logprobs_num: params.top_logprobs,
            stream,
            return_routed_experts: prompt.experts_from.map(|_| true),
            routed_experts_start_len: prompt.experts_from,
            return_indexer_topk: prompt.indexer.then_some(true),
            lora_path: params.lora.as_deref(),
            extra_key: prompt.salt.as_deref(),
            session_id: prompt.labelled.then_some(&*prompt.session.0),
        })
    }
}
