//! The one model.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::{App, error};

/// `GET /v1/models`.
pub(crate) async fn list(State(app): State<App>) -> Response {
    let context = app.sessions.engine().capabilities().max_context;
    let model = json!({
        "id": &*app.model, "object": "model", "created": 0, "owned_by": "verbatim", "max_model_len": context,
    });
    error::json(json!({"object": "list", "data": [model]}))
}
