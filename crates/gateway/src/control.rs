//! The gate.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::json;

use crate::{ApiError, App, error};

/// `POST /control/pause`: no attempt starts, running ones are aborted, their turns held.
pub(crate) async fn pause(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    app.controlled(&headers)?;
    app.sessions.dispatcher().close_gate();
    Ok(load(&app))
}

/// `POST /control/resume`: held turns go on.
pub(crate) async fn resume(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    app.controlled(&headers)?;
    app.sessions.dispatcher().open_gate();
    Ok(load(&app))
}

fn load(app: &App) -> Response {
    let (running, waiting) = app.sessions.dispatcher().load();
    error::json(json!({"running": running, "waiting": waiting}))
}
