//! OpenAI Responses, by path or by key.

mod stored;
mod stream;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::responses::{self, Request};
use verbatim_session::{Asked, Session, TurnError};

pub(crate) use self::stored::{show_by_key, show_by_path};
use crate::access::Caller;
use crate::reply::{counts, now, wait};
use crate::sent::sent;
use crate::{ApiError, App, error};

/// `POST /sessions/{session}/v1/responses`.
pub(crate) async fn by_path(
    State(app): State<App>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let session = app.sessions.get(&token)?;
    respond(&app, &session, &headers, body?).await
}

/// `POST /v1/responses` with the session's token as the API key.
pub(crate) async fn by_key(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let session = app.keyed(&caller)?;
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
            wire: &request,
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
