//! Whether the server lives.

use axum::response::Response;
use serde_json::json;

use crate::error;

/// `GET /health`.
pub(crate) async fn health() -> Response {
    error::json(json!({"status": "ok"}))
}
