//! What llama.cpp's server says of itself.

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error;
use crate::answer::json as respond;
use crate::call::Call;
use crate::runs::Stage;

pub(super) async fn health(_: Call) -> Response {
    respond(200, json!({ "status": "ok" }))
}

pub(super) async fn props(call: Call) -> Response {
    let options = &call.shared.options;
    let settings = json!({
        "id": 0, "n_ctx": call.shared.context(), "speculative": false, "is_processing": false,
        "params": { "temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "n_predict": -1 },
    });
    respond(
        200,
        json!({
            "default_generation_settings": settings, "total_slots": slot_count(&call),
            "model_path": options.model, "model_alias": options.model,
            "modalities": { "vision": false, "audio": false }, "chat_template": "", "bos_token": "",
            "eos_token": "", "build_info": options.version,
        }),
    )
}

fn slot_count(call: &Call) -> usize {
    call.shared.options.max_running.max(1)
}

pub(super) async fn slots(call: Call) -> Response {
    let busy = call.shared.runs.count(Stage::Running);
    let slot = |id: usize| json!({ "id": id, "n_ctx": call.shared.context(), "is_processing": id < busy });
    respond(200, (0..slot_count(&call)).map(slot).collect::<Value>())
}

pub(super) async fn metrics(call: Call) -> Response {
    let runs = &call.shared.runs;
    format!(
        "llamacpp:requests_processing {}\nllamacpp:requests_deferred {}\n",
        runs.count(Stage::Running),
        runs.count(Stage::Waiting)
    )
    .into_response()
}

pub(super) async fn models(call: Call) -> Response {
    let model = &call.shared.options.model;
    let meta = json!({ "n_vocab": call.shared.vocabulary(), "n_ctx_train": call.shared.context() });
    let entry = json!({ "id": model, "object": "model", "created": 0, "owned_by": "llamacpp", "meta": meta });
    respond(200, json!({ "object": "list", "data": [entry] }))
}

/// There is no tokenizer: a text's bytes stand for its ids.
pub(super) async fn tokenize(call: Call) -> Response {
    match call.seen.json()["content"].as_str() {
        Some(text) => respond(200, json!({ "tokens": text.as_bytes() })),
        None => error(400, "content is missing"),
    }
}
