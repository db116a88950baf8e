//! llama.cpp's server.

mod completion;
mod info;
mod reply;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::answer::json as respond;
use crate::call::has_key;
use crate::seen::Seen;
use crate::state::Shared;

/// What is open to everybody.
const OPEN: &[&str] = &["/health", "/v1/health", "/models", "/v1/models"];

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/completion", post(completion::complete))
        .route("/completions", post(completion::complete))
        .route("/health", get(info::health))
        .route("/v1/health", get(info::health))
        .route("/props", get(info::props))
        .route("/slots", get(info::slots))
        .route("/metrics", get(info::metrics))
        .route("/v1/models", get(info::models))
        .route("/models", get(info::models))
        .route("/tokenize", post(info::tokenize))
        .fallback(|| async { error(404, "File Not Found") })
}

/// While the model loads everything is 503.
pub(crate) fn guard(shared: &Shared, seen: &Seen) -> Option<Response> {
    if !shared.healthy.load(Ordering::Relaxed) {
        return Some(error(503, "Loading model"));
    }
    let key = shared.options.api_key.as_deref().filter(|_| !OPEN.contains(&seen.path.as_str()))?;
    let given = has_key(seen, key) || seen.header("x-api-key") == Some(key);
    (!given).then(|| error(401, "Invalid API Key"))
}

fn error(status: u16, message: &str) -> Response {
    respond(status, json!({ "error": body(status, message) }))
}

/// What is under `error`, in a response or in a stream.
fn body(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        501 => "not_supported_error",
        429 | 503 => "unavailable_error",
        _ => "server_error",
    };
    json!({ "code": status, "message": message, "type": kind })
}
