//! Chat Completions.

mod logprobs;
mod stream;
mod whole;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::chat::Request;
use verbatim_session::{Asked, Prompted, Session};

use crate::access::Addressed;
use crate::reply::now;
use crate::sent::sent;
use crate::{ApiError, App};

/// `POST /v1/chat/completions`, and the same below a session's path.
pub(crate) async fn turn(
    State(app): State<App>,
    Addressed(session): Addressed,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
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
            prompt: Prompted::Messages(&request),
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
