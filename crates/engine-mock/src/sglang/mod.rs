//! SGLang's HTTP server, as of 0.5.23.

mod chat;
mod control;
mod generate;
mod info;
mod reply;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::{any, get, post};
use serde_json::json;

use crate::answer::json as respond;
use crate::call::has_key;
use crate::seen::Seen;
use crate::state::Shared;

/// Routes that take the admin key where one is set.
const ADMIN: &[&str] = &[
    "/pause_generation",
    "/continue_generation",
    "/abort_request",
    "/flush_cache",
    "/init_weights_update_group",
    "/destroy_weights_update_group",
    "/begin_weight_update",
    "/end_weight_update",
    "/update_weights_from_distributed",
    "/update_weights_from_tensor",
    "/update_weights_from_disk",
    "/update_weight_version",
    "/release_memory_occupation",
    "/resume_memory_occupation",
];

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/generate", post(generate::generate).put(generate::generate))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/abort_request", post(control::abort))
        .route("/pause_generation", post(control::pause))
        .route("/continue_generation", post(control::resume))
        .route("/flush_cache", any(control::flush))
        .route("/close_session", post(control::nothing))
        .route("/update_weight_version", post(control::update_version))
        .route("/update_weights_from_disk", post(control::update_from_disk))
        .route("/init_weights_update_group", post(control::succeed))
        .route("/destroy_weights_update_group", post(control::succeed))
        .route("/begin_weight_update", post(control::begin))
        .route("/end_weight_update", post(control::end))
        .route("/update_weights_from_distributed", post(control::update_in_session))
        .route("/update_weights_from_tensor", post(control::update_in_session))
        .route("/release_memory_occupation", post(control::nothing))
        .route("/resume_memory_occupation", post(control::nothing))
        .route("/model_info", get(info::model))
        .route("/get_model_info", get(info::model))
        .route("/server_info", get(info::server))
        .route("/get_server_info", get(info::server))
        .route("/get_weight_version", any(info::gone))
        .route("/weight_version", any(info::gone))
        .route("/health", get(info::health))
        .route("/health_generate", get(info::health))
        .route("/ready", get(info::ready))
        .route("/get_load", get(info::load))
        .route("/v1/loads", get(info::loads))
        .route("/v1/models", get(info::models))
        .route("/metrics", get(info::metrics))
        .fallback(|| async { respond(404, json!({ "detail": "Not Found" })) })
}

/// The rules of the two keys: health and metrics are open; control routes take the admin key where
/// there is one, and then only that.
pub(crate) fn guard(shared: &Shared, seen: &Seen) -> Option<Response> {
    let path = seen.path.as_str();
    if ["/health", "/ready", "/metrics"].iter().any(|open| path.starts_with(open)) {
        return None;
    }
    let admin = shared.options.admin_key.as_deref().filter(|_| ADMIN.contains(&path));
    let key = admin.or(shared.options.api_key.as_deref())?;
    (!has_key(seen, key)).then(|| respond(401, json!({ "error": "Unauthorized" })))
}

/// The flat error of pydantic, of the queue and of `/v1/*`.
fn flat(status: u16, message: &str) -> Response {
    let kind = match status {
        400 => "BadRequestError".to_owned(),
        500 => "InternalServerError".to_owned(),
        other => other.to_string(),
    };
    respond(
        status,
        json!({ "object": "error", "message": message, "type": kind, "param": null, "code": status }),
    )
}

/// What the tokenizer manager refuses: an object with nothing but a message.
fn refused(message: &str) -> Response {
    respond(400, json!({ "error": { "message": message } }))
}

/// An abort by the scheduler with a status, of a call that is not streamed.
fn aborted(status: u16, message: &str) -> Response {
    match status {
        400 => refused(message),
        499 => respond(499, json!({ "error": { "message": message } })),
        _ => flat(status, message),
    }
}
