//! OpenAI Responses.

mod stored;
mod stream;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::responses::{self, Request};
use verbatim_session::{Asked, Prompted, Session, TurnError};

pub(crate) use self::stored::show;
use crate::access::Addressed;
use crate::reply::{counts, now, wait};
use crate::sent::sent;
use crate::{ApiError, App, error};

/// `POST /v1/responses`, and the same below a session's path.
pub(crate) async fn turn(
    State(app): State<App>,
    Addressed(session): Addressed,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    respond(&app, &session, &headers, body?).await
}

async fn respond(
    app: &App,
    session: &Arc<Session>,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let created = now();
    let (reply, echo, stream) = {
        let request = Request::parse(&body, &app.model).map_err(TurnError::from)?;
        let asked = Asked {
            prompt: Prompted::Messages(&request),
            sampling: &request.sampling,
            lost: request.lost.clone(),
            response_prefix: responses::PREFIX,
            deltas: request.stream,
            sent: sent(headers, responses::PREFIX, &body),
        };
        (app.sessions.turn(session, asked).await?, request.echo, request.stream)
    };
    // The body is not needed while the engine works, and it may be large.
    drop(body);
    if stream {
        return Ok(stream::respond(app.limits.silence, reply, created, echo));
    }
    let id = reply.response.clone();
    let (committed, _) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let (message, finish) = (&generated.message, generated.finish);
    Ok(error::json(responses::Response::new(&id, created, &echo, message, finish, counts(&committed))))
}
