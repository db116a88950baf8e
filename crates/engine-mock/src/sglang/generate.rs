//! `POST /generate`.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use verbatim_engine::Params;
use verbatim_tokens::TokenId;

use super::reply::{Chunks, Shape};
use super::schema::{self, Refused};
use super::{aborted, flat, refused, reply};
use crate::answer::{self, json as respond};
use crate::ask::{self, Asked};
use crate::call::Call;
use crate::images::expanded;
use crate::run::Run;

/// What `max_new_tokens` is if it is not sent.
const MAX_NEW_TOKENS: usize = 128;

pub(super) async fn generate(call: Call) -> Response {
    let plan = match answer::enter(&call, flat).await {
        Ok(plan) => plan,
        Err(response) => return response,
    };
    let body = match serde_json::from_slice::<Value>(&call.seen.body) {
        Ok(body) if body.is_object() => body,
        _ => return flat(400, "the body is not a JSON object"),
    };
    match schema::check(&body) {
        Ok(()) => {}
        Err(Refused::UnknownKey(_)) if call.shared.options.legacy => {
            // In a stream the head is out by then, and nothing follows it.
            let streamed = body["stream"].as_bool().unwrap_or_default();
            return if streamed {
                ([(CONTENT_TYPE, "text/event-stream; charset=utf-8")], "").into_response()
            } else {
                (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").into_response()
            };
        }
        Err(refused) => return respond(400, json!({ "error": refused.to_string() })),
    }
    if call.shared.options.legacy && outside(&call, &body) {
        return call.line.reset().await;
    }
    let shape = Shape::read(&body, call.shared.options.incremental);
    let streamed = body["stream"].as_bool().unwrap_or_default();
    let opened = parse(&call, &body).and_then(|asked| {
        let rid = asked.rid.clone();
        Run::open(&call.shared, asked, plan).ok_or(format!("Duplicate request ID detected: {rid}"))
    });
    let run = match opened {
        Ok(run) => run,
        // The head of a stream is out before the request is looked at.
        Err(message) if streamed => return answer::failed(&Chunks(shape), 400, &message),
        Err(message) => return refused(&message),
    };
    if !Run::fits(&call.shared) {
        return flat(503, "The request queue is full.");
    }
    if streamed {
        let interval = body["sampling_params"]["stream_interval"].as_u64().unwrap_or(1);
        return answer::stream(run, call.line, interval as usize, Chunks(shape));
    }
    answer::whole(run, &call.line, aborted, |run| match reply::failure(run) {
        Some((status, message)) => aborted(status, &message),
        None => respond(200, reply::body(run, &shape, 0, true)),
    })
    .await
}

/// Whether an id is none of the vocabulary's.
fn outside(call: &Call, body: &Value) -> bool {
    let vocabulary = call.shared.vocabulary() as u64;
    let mut ids = body["input_ids"].as_array().into_iter().flatten();
    ids.any(|id| id.as_u64().is_none_or(|id| id >= vocabulary))
}

fn parse(call: &Call, body: &Value) -> Result<Asked, String> {
    let shared = &call.shared;
    let (ids, images) =
        expanded(shared.options.images.as_ref(), ids(&body["input_ids"])?, &body["image_data"])?;
    let vocabulary = shared.vocabulary();
    if let Some(outside) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(format!(
            "The input_ids hold {outside}, which is not below the vocabulary size {vocabulary}."
        ));
    }
    let context = shared.context();
    if ids.len() >= context {
        return Err(format!(
            "The input ({} tokens) is longer than the model's context length ({context} tokens).",
            ids.len()
        ));
    }
    let sampling = &body["sampling_params"];
    let max = match sampling.get("max_new_tokens") {
        None => MAX_NEW_TOKENS,
        Some(Value::Null) => context - ids.len(),
        Some(max) => max.as_u64().ok_or("max_new_tokens must be at least 0")? as usize,
    };
    if ids.len() + max > context {
        return Err(format!(
            "Requested token count exceeds the model's maximum context length of {context} tokens. You \
             requested a total of {} tokens: {} tokens from the input messages and {max} tokens for the completion. \
             Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
            ids.len() + max,
            ids.len()
        ));
    }
    let stops = texts(&sampling["stop"]);
    if !stops.is_empty() && shared.options.decode.is_none() {
        return Err("stop strings need a tokenizer, and the server skipped its initialisation".into());
    }
    let lora = body["lora_path"].as_str().map(ToOwned::to_owned);
    if let Some(name) = lora.as_ref().filter(|name| !shared.options.adapters.contains(name)) {
        return Err(format!("The following requested LoRA adapters are not loaded: {name}"));
    }
    let start = body["routed_experts_start_len"].as_i64().unwrap_or_default();
    if usize::try_from(start).map_or(true, |start| start > ids.len()) {
        return Err(format!("routed_experts_start_len {start} is not within 0..={}", ids.len()));
    }
    let logprobs = body["return_logprob"].as_bool().unwrap_or_default();
    let from = body["logprob_start_len"].as_i64().and_then(|from| usize::try_from(from).ok());
    if from.is_some_and(|from| from > ids.len()) {
        return Err(format!(
            "req.logprob_start_len={} is higher than the number of input tokens \
             len(req.origin_input_ids)={}. Please use a smaller logprob_start_len.",
            from.unwrap_or_default(),
            ids.len()
        ));
    }
    Ok(Asked {
        rid: body["rid"].as_str().map_or_else(|| shared.name(), ToOwned::to_owned),
        params: params(sampling, max, &shared.options.eos, body["top_logprobs_num"].as_u64())?,
        ids,
        images,
        stops,
        lora,
        priority: body["priority"].as_i64().unwrap_or_default(),
        namespace: body["extra_key"].as_str().or(body["cache_salt"].as_str()).map(ToOwned::to_owned),
        session: body["session_id"].as_str().map(ToOwned::to_owned).or_else(|| ask::session(&call.seen)),
        indexer: body["return_indexer_topk"].as_bool().unwrap_or_default(),
        experts_start: body["return_routed_experts"].as_bool().unwrap_or_default().then_some(start as usize),
        logprobs,
        score_from: from.filter(|_| logprobs),
        stream: body["stream"].as_bool().unwrap_or_default(),
        ignored: Vec::new(),
    })
}

/// Sampling parameters under their names in `sampling_params`.
pub(super) fn params(
    sampling: &Value,
    max: usize,
    eos: &[u32],
    top_logprobs: Option<u64>,
) -> Result<Params, String> {
    let number = |name: &str, default: f64, low: f64, high: f64| {
        let value = sampling[name].as_f64().unwrap_or(default);
        let fits = (low..=high).contains(&value);
        fits.then_some(value as f32).ok_or(format!("{name} must be in [{low}, {high}], got {value}."))
    };
    let top_p = number("top_p", 1.0, 0.0, 1.0)?;
    if top_p == 0.0 {
        return Err("top_p must be in (0, 1], got 0.".into());
    }
    let top_k = match sampling["top_k"].as_i64().unwrap_or(-1) {
        -1 => None,
        k if k >= 1 => u32::try_from(k).ok().filter(|k| *k < 1 << 30),
        k => return Err(format!("top_k must be -1 (disable) or at least 1, got {k}.")),
    };
    let ignored = sampling["ignore_eos"].as_bool().unwrap_or_default();
    let own = if ignored { &[] } else { eos };
    let named = sampling["stop_token_ids"].as_array().into_iter().flatten();
    let named = named.filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok());
    Ok(Params {
        max_tokens: u32::try_from(max).unwrap_or(u32::MAX),
        temperature: number("temperature", 1.0, 0.0, f64::from(f32::MAX))?,
        top_p,
        top_k,
        min_p: number("min_p", 0.0, 0.0, 1.0)?,
        presence_penalty: number("presence_penalty", 0.0, -2.0, 2.0)?,
        frequency_penalty: number("frequency_penalty", 0.0, -2.0, 2.0)?,
        repetition_penalty: number("repetition_penalty", 1.0, 0.0, 2.0)?,
        min_tokens: sampling["min_new_tokens"]
            .as_u64()
            .and_then(|min| u32::try_from(min).ok())
            .unwrap_or_default(),
        stop_ids: named.chain(own.iter().copied()).map(TokenId).collect(),
        seed: sampling["sampling_seed"].as_i64().map(i64::cast_unsigned),
        top_logprobs: top_logprobs.map_or(0, |k| u8::try_from(k).unwrap_or(u8::MAX)),
        ..Params::default()
    })
}

/// One prompt's ids.
pub(super) fn ids(value: &Value) -> Result<Vec<u32>, String> {
    let Some(list) = value.as_array() else {
        return Err("Either text, input_ids or input_embeds should be provided.".into());
    };
    if list.is_empty() {
        return Err("input_ids cannot be empty.".into());
    }
    let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    list.iter()
        .map(|value| id(value).ok_or(format!("{value} is no token id; this mock takes no batches")))
        .collect()
}

/// A string or a list of strings.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        _ => Vec::new(),
    }
}
