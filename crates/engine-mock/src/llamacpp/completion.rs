//! `POST /completion`, with the server's defaults, which are not neutral.

use axum::response::Response;
use serde_json::{Value, json};
use verbatim_engine::Params;
use verbatim_tokens::TokenId;

use super::forced;
use super::reply::{self, Chunks, Shape};
use super::{body as error_body, error};
use crate::answer::{self, json as respond};
use crate::ask::{self, Asked};
use crate::call::Call;
use crate::run::Run;

/// Names that are known. Anything else is ignored silently, stop ids among it: there are none here.
const KNOWN: &[&str] = &[
    "prompt",
    "n_predict",
    "max_tokens",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repeat_penalty",
    "repeat_last_n",
    "seed",
    "stop",
    "ignore_eos",
    "stream",
    "n_probs",
    "post_sampling_probs",
    "return_tokens",
    "cache_prompt",
    "id_slot",
    "samplers",
    "logit_bias",
    "lora",
    "grammar",
    "json_schema",
    "typical_p",
    "top_n_sigma",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "dynatemp_range",
    "dynatemp_exponent",
    "xtc_probability",
    "xtc_threshold",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "dry_sequence_breakers",
    "n_keep",
    "n_discard",
    "n_indent",
    "min_keep",
    "t_max_predict_ms",
    "timings_per_token",
    "response_fields",
    "return_progress",
    "sse_ping_interval",
    "n_cmpl",
    "speculative.n_max",
    "speculative.n_min",
    "speculative.p_min",
    "speculative.types",
    "backend_sampling",
];

pub(super) async fn complete(call: Call) -> Response {
    let plan = match answer::enter(&call, error).await {
        Ok(plan) => plan,
        Err(response) => return response,
    };
    let body = match serde_json::from_slice::<Value>(&call.seen.body) {
        Ok(body) if body.is_object() => body,
        _ => return error(400, "the body is not a JSON object"),
    };
    let ids = match ids(&body["prompt"]) {
        Ok(ids) => ids,
        Err(message) => return error(400, &message),
    };
    let context = call.shared.context();
    if ids.len() >= context {
        let words = format!(
            "request ({} tokens) exceeds the available context size ({context} tokens), try increasing it",
            ids.len()
        );
        let mut refused = error_body(400, &words);
        refused["type"] = "exceed_context_size_error".into();
        refused["n_prompt_tokens"] = ids.len().into();
        refused["n_ctx"] = context.into();
        return respond(400, json!({ "error": refused }));
    }
    if ids.iter().any(|id| *id as usize >= call.shared.vocabulary()) {
        return error(400, "Prompt contains invalid tokens");
    }
    if let Some(id) = forced::forced(&body) {
        return forced::reply(&call, ids, id).await;
    }
    if !Run::fits(&call.shared) {
        return error(503, "no slot available");
    }
    let asked = understand(&call, &body, ids);
    let shape = Shape::read(&body);
    let streamed = asked.stream;
    let Some(run) = Run::open(&call.shared, asked, plan) else {
        return error(500, "a name was given out twice");
    };
    if streamed {
        return answer::stream(run, call.line, 1, Chunks(shape));
    }
    answer::whole(run, &call.line, error, |run| match reply::failure(run) {
        Some((status, message)) => error(status, &message),
        None => respond(200, reply::whole(run, &shape)),
    })
    .await
}

fn understand(call: &Call, body: &Value, ids: Vec<u32>) -> Asked {
    let shared = &call.shared;
    let number = |name: &str, default: f64| body[name].as_f64().unwrap_or(default) as f32;
    let room = shared.context() - ids.len();
    let limit = body["n_predict"].as_i64().or(body["max_tokens"].as_i64()).unwrap_or(-1);
    // None is one, as seen.
    let limit = usize::try_from(limit).map_or(room, |limit| limit.clamp(1, room));
    let ignored = body["ignore_eos"].as_bool().unwrap_or_default();
    let stop_ids =
        if ignored { Vec::new() } else { shared.options.eos.iter().copied().map(TokenId).collect() };
    let stops = body["stop"].as_array().into_iter().flatten();
    let slot = body["id_slot"].as_i64().filter(|slot| *slot >= 0);
    let keys = body.as_object().into_iter().flat_map(serde_json::Map::keys);
    Asked {
        images: Vec::new(),
        rid: shared.name(),
        params: Params {
            max_tokens: u32::try_from(limit).unwrap_or(u32::MAX),
            temperature: number("temperature", 0.8),
            top_p: number("top_p", 0.95),
            top_k: u32::try_from(body["top_k"].as_i64().unwrap_or(40)).ok().filter(|k| *k > 0),
            min_p: number("min_p", 0.05),
            presence_penalty: number("presence_penalty", 0.0),
            frequency_penalty: number("frequency_penalty", 0.0),
            stop_ids,
            seed: body["seed"].as_i64().filter(|seed| *seed >= 0).map(i64::cast_unsigned),
            top_logprobs: body["n_probs"].as_u64().map_or(0, |n| u8::try_from(n).unwrap_or(u8::MAX)),
            ..Params::default()
        },
        ids,
        stops: stops.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        session: ask::session(&call.seen).or_else(|| slot.map(|slot| format!("slot {slot}"))),
        logprobs: body["n_probs"].as_u64().unwrap_or_default() > 0,
        stream: body["stream"].as_bool().unwrap_or_default(),
        ignored: keys.filter(|name| !KNOWN.contains(&name.as_str())).cloned().collect(),
        ..Asked::default()
    }
}

fn ids(value: &Value) -> Result<Vec<u32>, String> {
    let list = value.as_array().ok_or("a prompt of token ids is needed: this mock has no tokenizer")?;
    if list.is_empty() {
        return Err("\"prompt\" must not be empty".into());
    }
    let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    list.iter().map(|value| id(value).ok_or("Prompt contains invalid tokens".to_owned())).collect()
}
