//! A reply in one piece.

use axum::response::Response;
use verbatim_dialects::chat::{Completion, Usage};
use verbatim_session::{Reply, TurnError, TurnEvent};

use super::{Shape, logprobs};
use crate::{ApiError, App, error};

/// Waits for the commit and replies.
pub(super) async fn respond(app: &App, mut reply: Reply, shape: Shape) -> Result<Response, ApiError> {
    let mut tokens = Vec::new();
    while let Some(event) = reply.events.recv().await {
        match event {
            TurnEvent::Delta { tokens: more, .. } => tokens.extend(more),
            TurnEvent::Failed(failed) => return Err(failed.into()),
            TurnEvent::Committed(committed) => {
                let generated = &committed.turn.generated;
                let usage =
                    Usage::new(committed.prompt_tokens, generated.sampled.len(), generated.cached_tokens);
                let tokenizer = app.sessions.family().tokenizer();
                let entries = shape.logprobs.then(|| logprobs::entries(tokenizer.as_ref(), &tokens));
                return Ok(error::json(Completion::new(
                    &reply.response,
                    shape.created,
                    &shape.model,
                    &generated.message,
                    generated.finish,
                    usage,
                    entries,
                )));
            }
        }
    }
    Err(TurnError::Closed.into())
}
