//! A reply in one piece.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use verbatim_dialects::chat::{Chunks, Completion, Usage};
use verbatim_session::{Committed, Reply};

use super::{Shape, logprobs};
use crate::miles::MetaInfo;
use crate::reply::{counts, wait};
use crate::{ApiError, App, error};

/// Waits for the commit and replies.
pub(super) async fn respond(app: &App, reply: Reply, shape: Shape) -> Result<Response, ApiError> {
    let response = reply.response.clone();
    let (committed, tokens) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let tokenizer = app.sessions.family().tokenizer();
    let entries = shape.logprobs.then(|| logprobs::entries(tokenizer.as_ref(), &tokens));
    let mut completion = Completion::new(
        &response,
        shape.created,
        &shape.model,
        &generated.message,
        generated.finish,
        usage(&committed),
        entries,
    );
    if shape.meta_info {
        let meta = MetaInfo::told(&committed.turn).spell(committed.prompt_tokens, None);
        completion.choices[0].meta_info = Some(meta);
    }
    Ok(error::json(completion))
}

/// Waits for the commit and replies with a stream of one chunk. A failure has its own status and no stream.
pub(super) async fn as_one_chunk(reply: Reply, shape: Shape) -> Result<Response, ApiError> {
    let chunks = Chunks::new(reply.response.clone(), shape.created, shape.model, shape.include_usage);
    let (committed, _) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let chunk = chunks.whole(&generated.message, generated.finish, usage(&committed));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, format!("data: {chunk}\n\ndata: [DONE]\n\n")).into_response())
}

fn usage(committed: &Committed) -> Usage {
    Usage::new(counts(committed))
}
