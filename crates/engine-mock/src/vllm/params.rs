//! What a request asks, under the names of `SamplingParams` and with vLLM's defaults.

use serde_json::{Map, Value};
use verbatim_engine::Params;
use verbatim_tokens::TokenId;

use crate::ask::{self, Asked};
use crate::call::Call;

/// Names that some route knows, besides those that are read here. Anything else is ignored silently.
const KNOWN: &[&str] = &[
    "n",
    "repetition_penalty",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "detokenize",
    "include_stop_str_in_output",
    "min_tokens",
    "prompt_logprob_start",
    "logprob_token_ids",
    "bad_words",
    "logit_bias",
    "allowed_token_ids",
    "extra_args",
    "structured_outputs",
    "skip_reading_prefix_cache",
    "flat_logprobs",
    "stream_interval",
    "output_kind",
    "thinking_token_budget",
    "repetition_detection",
    "trace_decode_token_ids",
    "prompt_logprob_token_ids",
    "truncate_prompt_tokens",
    "best_of",
];
/// Names that are read.
const READ: &[&str] = &[
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "stop_token_ids",
    "ignore_eos",
    "logprobs",
    "prompt_logprobs",
    "routed_experts_prompt_start",
];

/// `--max-logprobs`.
const MAX_LOGPROBS: i64 = 20;

/// A route's own part of a request.
pub(super) struct Source<'a> {
    pub(super) call: &'a Call,
    pub(super) body: &'a Value,
    /// Where sampling parameters are: the body itself or an object in it.
    pub(super) sampling: &'a Value,
    pub(super) ids: Result<Vec<u32>, String>,
    /// If the request does not say; `None` fills the context.
    pub(super) max_tokens: Option<usize>,
    /// Whether the sampling object is one of its own, so that what is unknown in it can be told.
    pub(super) closed: bool,
    /// The name before and after the request's id.
    pub(super) name: (&'static str, &'static str),
}

impl Source<'_> {
    /// The request's own id.
    pub(super) fn id(&self) -> String {
        let given = self.call.seen.header("x-request-id").or(self.body["request_id"].as_str());
        given.map_or_else(|| self.call.shared.name(), ToOwned::to_owned)
    }

    /// The request as understood, under its external id.
    pub(super) fn read(self, id: &str) -> Result<Asked, (u16, String)> {
        let bad = |message: String| (400, message);
        let (shared, body, sampling) = (&self.call.shared, self.body, self.sampling);
        let ids = self.ids.map_err(bad)?;
        if ids.is_empty() {
            return Err(bad("The prompt must hold at least one token id.".into()));
        }
        let vocabulary = shared.vocabulary();
        if let Some(outside) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(bad(format!("Token id {outside} is out of vocabulary")));
        }
        let context = shared.context();
        if sampling["max_tokens"] == 0 {
            return Err(bad("max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)".into()));
        }
        if sampling["logprobs"].as_i64().is_some_and(|logprobs| logprobs > MAX_LOGPROBS) {
            return Err(bad(format!(
                "Requested sample logprobs of {}, which is greater than max allowed: {MAX_LOGPROBS}",
                sampling["logprobs"]
            )));
        }
        if !sampling["stop"].is_null() && sampling["detokenize"] == false {
            let words =
                "stop strings are only supported when detokenize is True. Set detokenize=True to use stop.";
            return Err(bad(words.into()));
        }
        let given = sampling["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
        let given = given.map(|max| max as usize).or(self.max_tokens);
        let max = given.unwrap_or(context.saturating_sub(ids.len()));
        // The tokens API was seen to take any limit and to stop at the context; the OpenAI routes refuse.
        let max = if self.closed { max.min(context.saturating_sub(ids.len())) } else { max };
        if ids.len() >= context || ids.len() + max > context {
            return Err(bad(format!(
                "This model's maximum context length is {context} tokens. However, you requested {max} output \
                 tokens and your prompt contains {} input tokens. Please reduce the length of the input prompt \
                 or the number of requested output tokens.",
                ids.len()
            )));
        }
        let model = body["model"].as_str().unwrap_or(&shared.options.model);
        let lora = (model != shared.options.model).then(|| model.to_owned());
        if lora.as_ref().is_some_and(|name| !shared.options.adapters.contains(name)) {
            return Err((
                404,
                format!("The model `{model}` does not exist. Valid aliases: {}.", shared.options.model),
            ));
        }
        let stops = texts(&sampling["stop"]);
        if !stops.is_empty() && shared.options.decode.is_none() {
            return Err(bad("stop strings are not supported without a detokenizer".into()));
        }
        let start = &sampling["routed_experts_prompt_start"];
        let start = if start.is_null() { &body["routed_experts_prompt_start"] } else { start };
        let start = start.as_u64().unwrap_or_default() as usize;
        if start > ids.len() {
            return Err(bad(format!("routed_experts_prompt_start {start} is not within 0..={}", ids.len())));
        }
        Ok(Asked {
            images: Vec::new(),
            rid: format!("{}{id}{}", self.name.0, self.name.1),
            params: params(sampling, max, &shared.options.eos).map_err(bad)?,
            ids,
            stops,
            lora,
            priority: body["priority"].as_i64().unwrap_or_default(),
            namespace: body["cache_salt"].as_str().map(ToOwned::to_owned),
            session: ask::session(&self.call.seen),
            indexer: false,
            experts_start: shared.options.experts.map(|_| start),
            logprobs: !matches!(sampling["logprobs"], Value::Null | Value::Bool(false)),
            score_from: (!sampling["prompt_logprobs"].is_null()).then_some(0),
            stream: body["stream"].as_bool().unwrap_or_default(),
            ignored: if self.closed { unknown(sampling.as_object()) } else { Vec::new() },
        })
    }
}

fn unknown(sampling: Option<&Map<String, Value>>) -> Vec<String> {
    let names = sampling.into_iter().flat_map(Map::keys);
    names.filter(|name| !KNOWN.contains(&name.as_str()) && !READ.contains(&name.as_str())).cloned().collect()
}

fn params(sampling: &Value, max: usize, eos: &[u32]) -> Result<Params, String> {
    let number = |name: &str, default: f64, low: f64, high: f64| {
        let value = sampling[name].as_f64().unwrap_or(default);
        let fits = (low..=high).contains(&value);
        fits.then_some(value as f32).ok_or(format!("{name} must be in [{low}, {high}], got {value}."))
    };
    let top_p = number("top_p", 1.0, 0.0, 1.0)?;
    if top_p == 0.0 {
        return Err("top_p must be in (0, 1], got 0.0.".into());
    }
    let top_k = match sampling["top_k"].as_i64().unwrap_or_default() {
        0 | -1 => None,
        k => Some(
            u32::try_from(k).map_err(|_| format!("top_k must be 0 (disable), or at least 1, got {k}."))?,
        ),
    };
    let ignored = sampling["ignore_eos"].as_bool().unwrap_or_default();
    let own = if ignored { &[] } else { eos };
    let named = sampling["stop_token_ids"].as_array().into_iter().flatten();
    let named = named.filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok());
    // Chat asks with a flag and a number of its own.
    let top =
        if sampling["logprobs"].is_boolean() { &sampling["top_logprobs"] } else { &sampling["logprobs"] };
    Ok(Params {
        max_tokens: u32::try_from(max).unwrap_or(u32::MAX),
        temperature: number("temperature", 1.0, 0.0, f64::from(f32::MAX))?,
        top_p,
        top_k,
        min_p: number("min_p", 0.0, 0.0, 1.0)?,
        presence_penalty: number("presence_penalty", 0.0, -2.0, 2.0)?,
        frequency_penalty: number("frequency_penalty", 0.0, -2.0, 2.0)?,
        repetition_penalty: number("repetition_penalty", 1.0, 0.0, 2.0)?,
        min_tokens: sampling["min_tokens"]
            .as_u64()
            .and_then(|min| u32::try_from(min).ok())
            .unwrap_or_default(),
        stop_ids: named.chain(own.iter().copied()).map(TokenId).collect(),
        seed: sampling["seed"].as_i64().map(i64::cast_unsigned),
        top_logprobs: top.as_u64().map_or(0, |k| u8::try_from(k).unwrap_or(u8::MAX)),
        ..Params::default()
    })
}

/// A list of ids.
pub(super) fn ids(value: &Value) -> Result<Vec<u32>, String> {
    let list = value.as_array().ok_or("a list of token ids is needed: this mock has no tokenizer")?;
    let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    list.iter().map(|value| id(value).ok_or(format!("{value} is no token id"))).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        _ => Vec::new(),
    }
}
