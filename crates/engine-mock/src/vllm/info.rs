//! What vLLM says of itself.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::answer::json as respond;
use crate::call::Call;
use crate::runs::Stage;

/// Shallow: a pause does not matter.
pub(super) async fn health(call: Call) -> Response {
    let good = call.shared.healthy.load(Ordering::Relaxed);
    if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }.into_response()
}

pub(super) async fn version(call: Call) -> Response {
    respond(200, json!({ "version": call.shared.options.version }))
}

pub(super) async fn load(call: Call) -> Response {
    respond(200, json!({ "server_load": call.shared.runs.len() }))
}

pub(super) async fn models(call: Call) -> Response {
    let options = &call.shared.options;
    let entry = |name: &String, parent: Option<&String>| {
        json!({
            "id": name, "object": "model", "created": 0, "owned_by": "vllm", "root": name, "parent": parent,
            "max_model_len": parent.is_none().then_some(call.shared.context()), "permission": [],
        })
    };
    let mut data = vec![entry(&options.model, None)];
    data.extend(options.adapters.iter().map(|name| entry(name, Some(&options.model))));
    respond(200, json!({ "object": "list", "data": data }))
}

pub(super) async fn server(call: Call) -> Response {
    let config = json!({
        "model_config": {
            "model": call.shared.options.model, "max_model_len": call.shared.context(),
            "logprobs_mode": "raw_logprobs", "max_logprobs": 20,
        },
    });
    respond(200, json!({ "vllm_config": config, "vllm_env": {} }))
}

pub(super) async fn metrics(call: Call) -> Response {
    let (runs, model) = (&call.shared.runs, &call.shared.options.model);
    format!(
        "vllm:num_requests_running{{model_name=\"{model}\"}} {}\n\
         vllm:num_requests_waiting{{model_name=\"{model}\"}} {}\n",
        runs.count(Stage::Running),
        runs.count(Stage::Waiting) + runs.count(Stage::Held),
    )
    .into_response()
}
