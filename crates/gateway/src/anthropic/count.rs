//! Counting a prompt's tokens without a turn.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Serialize;
use verbatim_dialects::anthropic::Request;
use verbatim_session::{Session, TurnError};

use crate::access::Addressed;
use crate::error::AnthropicError;
use crate::{ApiError, App, error};

#[derive(Serialize)]
struct Counted {
    input_tokens: usize,
}

/// `POST /v1/messages/count_tokens`, and the same below a session's path.
pub(crate) async fn count(
    State(app): State<App>,
    session: Result<Addressed, ApiError>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let Addressed(session) = session?;
    Ok(counted(&app, &session, &body?).await?)
}

/// What the conversation would be rendered to, had it been sent as a turn to this session.
async fn counted(app: &App, session: &Arc<Session>, body: &Bytes) -> Result<Response, ApiError> {
    let request = Request::parse(body).map_err(TurnError::from)?;
    let input_tokens = app.sessions.count(session, &request).await?;
    Ok(error::json(Counted { input_tokens }))
}
