//! Anthropic Messages.

mod count;
mod stream;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::anthropic::{self, Reply, Request};
use verbatim_session::{Asked, Prompted, Session, TurnError};

pub(crate) use self::count::count;
use crate::access::Addressed;
use crate::error::AnthropicError;
use crate::reply::{counts, wait};
use crate::sent::sent;
use crate::{ApiError, App, error};

/// `POST /v1/messages`, and the same below a session's path.
pub(crate) async fn turn(
    State(app): State<App>,
    session: Result<Addressed, ApiError>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let Addressed(session) = session?;
    Ok(respond(&app, &session, &headers, body?).await?)
}

async fn respond(
    app: &App,
    session: &Arc<Session>,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (reply, model, stream, shows_thinking) = {
        let mut request = Request::parse(&body).map_err(TurnError::from)?;
        let asked = Asked {
            prompt: Prompted::Messages(&request),
            sampling: &request.sampling,
            lost: request.lost.clone(),
            response_prefix: anthropic::PREFIX,
            deltas: request.stream,
            sent: sent(headers, anthropic::PREFIX, &body),
        };
        let reply = app.sessions.turn(session, asked).await?;
        let model = request.model.take().unwrap_or_else(|| app.model.to_string());
        (reply, model, request.stream, request.shows_thinking)
    };
    // The body is not needed while the engine works, and it may be large.
    drop(body);
    if stream {
        return Ok(stream::respond(app.limits.silence, reply, model, shows_thinking));
    }
    let id = reply.response.clone();
    let (committed, _) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let (message, stop) = (&generated.message, committed.stop.as_deref());
    let reply = Reply::new(&id, &model, message, shows_thinking, generated.finish, stop, counts(&committed));
    Ok(error::json(reply))
}
