//! vLLM's HTTP server, as of 0.33.0.

mod control;
mod info;
mod logprobs;
mod params;
mod reply;
mod routes;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;

use crate::answer::json as respond;
use crate::call::has_key;
use crate::seen::Seen;
use crate::state::Shared;

/// What the key guards; the control plane is not among it.
const GUARDED: &[&str] = &["/v1", "/v2", "/inference", "/cohere"];

pub(crate) fn routes(dev_mode: bool) -> Router<Arc<Shared>> {
    let always = Router::new()
        .route("/inference/v1/generate", post(routes::tokens))
        .route("/inference/v1/abort_requests", post(control::abort_known))
        .route("/v1/completions", post(routes::completion))
        .route("/v1/chat/completions", post(routes::chat))
        .route("/v1/models", get(info::models))
        .route("/health", get(info::health))
        .route("/ping", get(info::health).post(info::health))
        .route("/load", get(info::load))
        .route("/version", get(info::version))
        .route("/metrics", get(info::metrics))
        .fallback(|| async { respond(404, json!({ "detail": "Not Found" })) });
    if !dev_mode {
        return always;
    }
    always
        .route("/pause", post(control::pause))
        .route("/resume", post(control::resume))
        .route("/is_paused", get(control::is_paused))
        .route("/abort_requests", post(control::abort))
        .route("/weight_info", get(control::weight_info))
        .route("/update_weight_version", post(control::update_version))
        .route("/init_weight_transfer_engine", post(control::ok))
        .route("/start_weight_update", post(control::ok))
        .route("/update_weights", post(control::ok))
        .route("/finish_weight_update", post(control::finish_update))
        .route("/reset_prefix_cache", post(control::reset))
        .route("/server_info", get(info::server))
}

pub(crate) fn guard(shared: &Shared, seen: &Seen) -> Option<Response> {
    let key = shared.options.api_key.as_deref()?;
    let guarded = GUARDED.iter().any(|prefix| seen.path.starts_with(prefix));
    (guarded && !has_key(seen, key)).then(|| respond(401, json!({ "error": "Unauthorized" })))
}

fn error(status: u16, message: &str) -> Response {
    respond(status, json!({ "error": body(status, message) }))
}

/// What is under `error`, in a response or in a stream.
fn body(status: u16, message: &str) -> serde_json::Value {
    let kind = match status {
        400 => "BadRequestError",
        403 => "PermissionDeniedError",
        404 => "NotFoundError",
        429 => "TooManyRequestsError",
        503 => "ServiceUnavailableError",
        _ => "InternalServerError",
    };
    json!({ "message": message, "type": kind, "param": null, "code": status })
}
