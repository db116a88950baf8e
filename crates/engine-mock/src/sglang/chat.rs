//! `POST /v1/chat/completions` with ids in and `meta_info` out.

use axum::response::Response;
use serde_json::{Value, json};

use super::generate::{ids, params, texts};
use super::reply::Shape;
use super::{flat, reply};
use crate::answer::{self, completion_tokens, json as respond};
use crate::ask::{self, Asked};
use crate::call::Call;
use crate::run::Run;
use crate::tally::{Finish, Matched};

pub(super) async fn complete(call: Call) -> Response {
    let plan = match answer::enter(&call, flat).await {
        Ok(plan) => plan,
        Err(response) => return response,
    };
    let body = call.seen.json();
    let flag = |name: &str| body[name].as_bool().unwrap_or_default();
    if body["messages"].as_array().is_none_or(Vec::is_empty) {
        return flat(400, "Messages cannot be empty.");
    }
    if flag("stream") {
        let whole = ["return_meta_info", "return_token_ids", "return_prompt_token_ids"];
        let refused = whole.iter().find(|name| flag(name)).copied().unwrap_or("this mock's chat route");
        return flat(400, &format!("{refused} does not support stream."));
    }
    let asked = match parse(&call, &body) {
        Ok(asked) => asked,
        Err(message) => return flat(400, &message),
    };
    let Some(run) = Run::open(&call.shared, asked, plan) else {
        return flat(400, "Duplicate request ID detected");
    };
    answer::whole(run, &call.line, flat, |run| match reply::failure(run) {
        Some((status, message)) => flat(status, &message),
        None => respond(200, completion(run, &body)),
    })
    .await
}

fn parse(call: &Call, body: &Value) -> Result<Asked, String> {
    let shared = &call.shared;
    let ids = ids(&body["input_ids"])?;
    let room = shared.context().checked_sub(ids.len()).filter(|room| *room > 0);
    let room =
        room.ok_or(format!("The input is longer than the model's context length ({}).", shared.context()))?;
    let max = body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64());
    let max = max.map_or(room, |max| max as usize);
    if max > room {
        return Err(format!(
            "Requested token count exceeds the model's maximum context length: {max} and {room}"
        ));
    }
    let mut sampling = body.clone();
    if !body["seed"].is_null() {
        sampling["sampling_seed"] = body["seed"].clone();
    }
    Ok(Asked {
        images: Vec::new(),
        rid: body["rid"].as_str().map_or_else(|| shared.name(), ToOwned::to_owned),
        params: params(&sampling, max, &shared.options.eos, body["top_logprobs"].as_u64())?,
        ids,
        stops: texts(&body["stop"]),
        lora: body["lora_path"].as_str().map(ToOwned::to_owned),
        priority: body["priority"].as_i64().unwrap_or_default(),
        namespace: body["extra_key"].as_str().or(body["cache_salt"].as_str()).map(ToOwned::to_owned),
        session: body["session_id"].as_str().map(ToOwned::to_owned).or_else(|| ask::session(&call.seen)),
        indexer: body["return_indexer_topk"].as_bool().unwrap_or_default(),
        experts_start: body["return_routed_experts"]
            .as_bool()
            .unwrap_or_default()
            .then(|| body["routed_experts_start_len"].as_u64().unwrap_or_default() as usize),
        logprobs: body["logprobs"].as_bool().unwrap_or_default(),
        score_from: None,
        stream: false,
        ignored: Vec::new(),
    })
}

fn completion(run: &Run, body: &Value) -> Value {
    let flag = |name: &str| body[name].as_bool().unwrap_or_default();
    let tally = &run.tally;
    let shape = Shape::chat(!flag("no_stop_trim"));
    let message = match &run.shared.options.parse {
        Some(parse) => parse(&tally.ids),
        None => {
            let content = reply::text(run, &shape, 0).unwrap_or_default();
            json!({ "role": "assistant", "content": content, "reasoning_content": null, "tool_calls": null })
        }
    };
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    let mut meta = reply::meta(run, &shape, 0, true);
    let mut finish = meta["finish_reason"]["type"].clone();
    let mut matched = match &tally.finish {
        Some(Finish::Stop(Matched::Eos(id) | Matched::Token(id))) => json!(id),
        Some(Finish::Stop(Matched::Text(text))) => json!(text),
        _ => Value::Null,
    };
    if calls && finish == "stop" {
        // The server rewrites the very dict that `meta_info` holds.
        finish = "tool_calls".into();
        matched = Value::Null;
        meta["finish_reason"] = json!({ "type": "tool_calls", "matched": null });
    }
    let experts = meta.as_object_mut().and_then(|meta| meta.shift_remove("routed_experts"));
    let mut choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish, "matched_stop": matched,
    });
    let mut sglext = json!({});
    if flag("return_meta_info") {
        if let Some(experts) = experts {
            meta["routed_experts"] = experts;
        }
        choice["meta_info"] = meta;
    } else if let Some(experts) = experts {
        sglext["routed_experts"] = experts;
    }
    if flag("return_token_ids") || flag("return_prompt_token_ids") {
        choice["prompt_token_ids"] = tally.prompt.clone().into();
    }
    if flag("return_token_ids") {
        let name = if run.shared.options.legacy { "token_ids" } else { "response_token_ids" };
        choice[name] = tally.ids.clone().into();
    }
    if flag("return_output_ids_in_sglext") {
        sglext["output_ids"] = json!([tally.ids]);
    }
    let version = run.shared.version(tally.spans.last().map(|span| span.version.as_str()));
    let mut body = json!({
        "id": run.asked.rid, "object": "chat.completion", "created": 0, "model": run.shared.model(),
        "choices": [choice],
        "usage": {
            "prompt_tokens": tally.prompt.len(),
            "completion_tokens": completion_tokens(tally),
            "total_tokens": tally.prompt.len() + tally.len(),
            "prompt_tokens_details": null, "reasoning_tokens": 0,
        },
        "metadata": { "weight_version": version },
    });
    if !run.shared.options.legacy && sglext.as_object().is_some_and(|sglext| !sglext.is_empty()) {
        body["sglext"] = sglext;
    }
    body
}
