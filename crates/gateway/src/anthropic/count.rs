//! Counting a prompt's tokens without a turn.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;
use verbatim_dialects::anthropic::Request;
use verbatim_session::{Session, TurnError};

use crate::access::Caller;
use crate::error::AnthropicError;
use crate::{ApiError, App, error};

#[derive(Serialize)]
struct Counted {
    input_tokens: usize,
}

/// `POST /sessions/{session}/v1/messages/count_tokens`.
pub(crate) async fn count_by_path(
    State(app): State<App>,
    Path(token): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let session = app.sessions.get(&token)?;
    Ok(count(&app, &session, &body?).await?)
}

/// `POST /v1/messages/count_tokens` with the session's token as the API key.
pub(crate) async fn count_by_key(
    State(app): State<App>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let session = app.keyed(&caller)?;
    Ok(count(&app, &session, &body?).await?)
}

/// What the conversation would be rendered to, had it been sent as a turn to this session.
async fn count(app: &App, session: &Arc<Session>, body: &Bytes) -> Result<Response, ApiError> {
    let request = Request::parse(body).map_err(TurnError::from)?;
    let input_tokens = app.sessions.count(session, &request).await?;
    Ok(error::json(Counted { input_tokens }))
}
