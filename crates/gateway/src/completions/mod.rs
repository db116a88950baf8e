//! Plain completions, and ids for ids: turns whose prompt is the client's own.

mod spell;
mod stream;
mod tokens;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::chat::Usage;
use verbatim_dialects::completions::{Completion, Prompt, Request};
use verbatim_session::{Asked, Ids, Prompted, TurnError};
use verbatim_tokenizer::SpecialSplitter;
use verbatim_tokens::TokenId;

use self::spell::Speller;
pub(crate) use self::tokens::tokens;
use crate::access::Addressed;
use crate::reply::{counts, now, wait};
use crate::sent::sent;
use crate::{ApiError, App, error};

/// What a reply's id begins with.
const PREFIX: &str = "cmpl-";

/// `POST /v1/completions`, and the same below a session's path.
pub(crate) async fn turn(
    State(app): State<App>,
    Addressed(session): Addressed,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (created, body) = (now(), body?);
    let request = Request::parse(&body).map_err(TurnError::from)?;
    let asked = Asked {
        prompt: Prompted::Ids(Ids { field: "prompt", ids: ids(&app, request.prompt) }),
        sampling: &request.sampling,
        lost: request.lost,
        response_prefix: PREFIX,
        deltas: true,
        sent: sent(&headers, PREFIX, &body),
    };
    let reply = app.sessions.turn(&session, asked).await?;
    drop(body);
    let model = request.model.unwrap_or_else(|| app.model.to_string());
    let tokenizer = Arc::clone(app.sessions.family().tokenizer());
    let mut speller = Speller::new(tokenizer, &request.sampling, request.token_ids);
    if request.stream {
        return Ok(stream::respond(&app, reply, created, model, request.include_usage, speller));
    }
    let id = reply.response.clone();
    let (committed, tokens) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let text = generated.message.content.text().into_owned();
    let said = speller.spell(text, &tokens);
    let usage = Usage::new(counts(&committed));
    Ok(error::json(Completion::new(&id, created, &model, &said, generated.finish, usage)))
}

/// The ids of a prompt. In text that spells a special token it is that token, as engines read it: the text is the whole
/// prompt, whoever rendered it. Nothing is put before it.
fn ids(app: &App, prompt: Prompt) -> Arc<[TokenId]> {
    match prompt {
        Prompt::Ids(ids) => ids.into_iter().map(TokenId).collect(),
        Prompt::Text(text) => {
            let tokenizer = app.sessions.family().tokenizer();
            SpecialSplitter::new(tokenizer.as_ref(), |_| true).encode(tokenizer.as_ref(), &text).into()
        }
    }
}
