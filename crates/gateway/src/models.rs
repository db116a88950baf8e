//! The one model, in the words of whoever asks.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::error::AnthropicError;
use crate::{ApiError, App, error};

/// As OpenAI's clients look for it; SGLang's and vLLM's look for its context, too.
#[derive(Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    max_model_len: usize,
}

/// As Anthropic's clients look for it.
#[derive(Serialize)]
struct AnthropicModel<'a> {
    r#type: &'static str,
    id: &'a str,
    display_name: &'a str,
    created_at: &'static str,
    lifecycle: &'static str,
    max_input_tokens: usize,
    max_tokens: usize,
}

#[derive(Serialize)]
struct List<T> {
    object: &'static str,
    data: [T; 1],
}

#[derive(Serialize)]
struct Page<'a> {
    data: [AnthropicModel<'a>; 1],
    first_id: &'a str,
    last_id: &'a str,
    has_more: bool,
}

/// `GET /v1/models`.
pub(crate) async fn list(State(app): State<App>, headers: HeaderMap) -> Response {
    if !asks_anthropic(&headers) {
        return error::json(List { object: "list", data: [openai(&app)] });
    }
    let id = &*app.model;
    error::json(Page { data: [anthropic(&app)], first_id: id, last_id: id, has_more: false })
}

/// Which model a path names; the name may hold slashes.
#[derive(Deserialize)]
pub(crate) struct Named {
    model: String,
}

/// `GET /v1/models/{model}`, and the same below a session's path.
pub(crate) async fn show(
    State(app): State<App>,
    Path(Named { model: id }): Path<Named>,
    headers: HeaderMap,
) -> Response {
    let unknown = || ApiError::no_model(&id, &app.model);
    match (id == *app.model, asks_anthropic(&headers)) {
        (true, false) => error::json(openai(&app)),
        (true, true) => error::json(anthropic(&app)),
        (false, false) => unknown().into_response(),
        (false, true) => AnthropicError::from(unknown()).into_response(),
    }
}

/// Only Anthropic's clients send the header.
fn asks_anthropic(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}

fn context(app: &App) -> usize {
    app.sessions.engine().capabilities().max_context
}

fn openai(app: &App) -> Model<'_> {
    let (object, owned_by) = ("model", "verbatim");
    Model { id: &app.model, object, created: 0, owned_by, max_model_len: context(app) }
}

fn anthropic(app: &App) -> AnthropicModel<'_> {
    AnthropicModel {
        r#type: "model",
        id: &app.model,
        display_name: &app.model,
        created_at: "1970-01-01T00:00:00Z",
        lifecycle: "active",
        max_input_tokens: context(app),
        max_tokens: context(app),
    }
}
