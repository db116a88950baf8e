//! The three routes that sample.

use axum::response::Response;
use serde_json::Value;

use super::params::{Source, ids};
use super::reply::{self, Route, Shape};
use super::stream::Chunks;
use super::{body as error_body, error};
use crate::answer::{self, json as respond};
use crate::call::Call;
use crate::pause::Gate;
use crate::run::Run;

const DISABLED: &str =
    "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.";

/// `POST /inference/v1/generate`.
pub(super) async fn tokens(call: Call) -> Response {
    if !call.shared.options.tokens_api {
        return error(403, DISABLED);
    }
    sample(call, Route::Tokens).await
}

/// `POST /v1/completions`.
pub(super) async fn completion(call: Call) -> Response {
    sample(call, Route::Completion).await
}

/// `POST /v1/chat/completions`; ids are taken from `kv_transfer_params.prompt_token_ids`.
pub(super) async fn chat(call: Call) -> Response {
    sample(call, Route::Chat).await
}

async fn sample(call: Call, route: Route) -> Response {
    let plan = match answer::enter(&call, error).await {
        Ok(plan) => plan,
        Err(response) => return response,
    };
    let body = match serde_json::from_slice::<Value>(&call.seen.body) {
        Ok(body) if body.is_object() => body,
        _ => return error(400, "the body is not a JSON object"),
    };
    // 0.32 was seen to hold the request without a word, streamed or not.
    if *call.shared.gate.borrow() == Gate::Drained && !call.shared.options.legacy {
        return error(503, "Generation is paused. Please retry after it resumes.");
    }
    let source = match source(&call, &body, route) {
        Ok(source) => source,
        Err(message) => return error(400, message),
    };
    let (id, prefix) = (source.id(), source.name.0);
    let asked = match source.read(&id) {
        Ok(asked) => asked,
        Err((status, message)) => return error(status, &message),
    };
    if asked.stream && asked.score_from.is_some() && route != Route::Tokens {
        return error(400, "`prompt_logprobs` are not available when `stream=True`.");
    }
    if !Run::fits(&call.shared) {
        return error(503, "The request queue is full.");
    }
    let (streamed, rid) = (asked.stream, asked.rid.clone());
    let Some(run) = Run::open(&call.shared, asked, plan) else {
        return respond(
            400,
            serde_json::json!({ "error": error_body(400, &format!("Request id {rid} already running")) }),
        );
    };
    let shape = Shape::read(&body, route, format!("{prefix}{id}"));
    if streamed {
        let interval = body["sampling_params"]["stream_interval"].as_u64().unwrap_or(1);
        return answer::stream(run, call.line, interval as usize, Chunks { shape, first: true });
    }
    answer::whole(run, &call.line, error, |run| match reply::failure(run) {
        Some((status, message)) => error(status, &message),
        None => respond(200, reply::whole(run, &shape)),
    })
    .await
}

fn source<'a>(call: &'a Call, body: &'a Value, route: Route) -> Result<Source<'a>, &'static str> {
    Ok(match route {
        Route::Tokens => {
            let sampling = &body["sampling_params"];
            if !sampling.is_object() {
                return Err("sampling_params: Field required");
            }
            let ids = ids(&body["token_ids"]);
            Source {
                call,
                body,
                sampling,
                ids,
                max_tokens: None,
                closed: true,
                name: ("generate-tokens-", ""),
            }
        }
        Route::Completion => {
            let ids = ids(&body["prompt"]);
            Source {
                call,
                body,
                sampling: body,
                ids,
                max_tokens: Some(16),
                closed: false,
                name: ("cmpl-", "-0"),
            }
        }
        Route::Chat => {
            if !body["messages"].is_array() {
                return Err("messages: Field required");
            }
            let ids = ids(&body["kv_transfer_params"]["prompt_token_ids"]);
            Source {
                call,
                body,
                sampling: body,
                ids,
                max_tokens: None,
                closed: false,
                name: ("chatcmpl-", ""),
            }
        }
    })
}
