//! Chat Completions, by path or by key.

mod logprobs;
mod stream;
mod whole;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::chat::Request;
use verbatim_session::{Asked, Session};

use crate::access::Caller;
use crate::reply::now;
use crate::sent::sent;
use crate::{ApiError, App};

/// `POST /sessions/{session}/v1/chat/completions`.
pub(crate) async fn by_path(
    State(app): State<App>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let session = app.sessions.get(&token)?;
    complete(&app, &session, &headers, body?).await
}

/// `POST /v1/chat/completions` with the session's token as the API key.
pub(crate) async fn by_key(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let session = app.keyed(&caller)?;
    complete(&app, &session, &headers, body?).await
}

async fn complete(
    app: &App,
    session: &Arc<Session>,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let created = now();
    let (reply, shape) = {
        let mut request = Request::parse(&body).map_err(verbatim_session::TurnError::from)?;
        let shape = Shape {
            created,
            model: request.model.take().unwrap_or_else(|| app.model.to_string()),
            stream: request.stream,
            include_usage: request.include_usage,
            one_chunk: request.one_chunk || app.one_chunk,
            meta_info: request.meta_info,
            logprobs: request.sampling.logprobs,
        };
        let asked = Asked {
            wire: &request,
            sampling: &request.sampling,
            lost: request.lost.clone(),
            response_prefix: "chatcmpl-",
            deltas: shape.logprobs || shape.stream && !shape.one_chunk,
            sent: sent(headers, "chat", &body),
        };
        (app.sessions.turn(session, asked).await?, shape)
    };
    // The body is not needed while the engine works, and it may be large.
    drop(body);
    if shape.stream && shape.one_chunk {
        whole::as_one_chunk(reply, shape).await
    } else if shape.stream {
        Ok(stream::respond(app, reply, shape))
    } else {
        whole::respond(app, reply, shape).await
    }
}

/// What a reply looks like.
struct Shape {
    created: u64,
    model: String,
    stream: bool,
    include_usage: bool,
    /// A stream is one chunk with the whole reply.
    one_chunk: bool,
    meta_info: bool,
    logprobs: bool,
}
