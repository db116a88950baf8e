//! Whether the server lives.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::{App, error};

/// `GET /health`; the id is that of this process.
pub(crate) async fn health(State(app): State<App>) -> Response {
    error::json(json!({"status": "ok", "session_server_instance_id": app.instance}))
}
