//! Ids for ids.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::Response;
use verbatim_dialects::chat::Usage;
use verbatim_dialects::completions::{Tokens, TokensRequest};
use verbatim_session::{Asked, Ids, Prompted, TurnError};
use verbatim_tokens::TokenId;

use crate::access::Addressed;
use crate::reply::{counts, wait};
use crate::sent::sent;
use crate::{ApiError, App, error};

/// What a reply's id begins with.
const PREFIX: &str = "tok-";

/// `POST /v1/tokens`, and the same below a session's path.
pub(crate) async fn tokens(
    State(app): State<App>,
    Addressed(session): Addressed,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body?;
    let request = TokensRequest::parse(&body).map_err(TurnError::from)?;
    let ids = request.input_ids.into_iter().map(TokenId).collect();
    let tops = request.sampling.top_logprobs > 0;
    let asked = Asked {
        prompt: Prompted::Ids(Ids { field: "input_ids", ids }),
        sampling: &request.sampling,
        lost: request.lost,
        response_prefix: PREFIX,
        deltas: tops,
        sent: sent(&headers, PREFIX, &body),
    };
    let reply = app.sessions.turn(&session, asked).await?;
    drop(body);
    let id = reply.response.clone();
    let (committed, told) = wait(reply).await?;
    let generated = &committed.turn.generated;
    let sampled = &generated.sampled;
    let versions = sampled.versions().iter();
    let alternatives = |token: verbatim_session::SampledToken| {
        token.top.into_iter().map(|(id, logprob)| (id.0, logprob)).collect()
    };
    Ok(error::json(Tokens {
        id: &id,
        output_ids: TokenId::raw(sampled.ids()),
        logprobs: sampled.logprobs().iter().collect(),
        versions: versions.map(|(version, count)| (version.as_ref().map(|v| v.as_str()), count)).collect(),
        top_logprobs: tops.then(|| told.into_iter().map(alternatives).collect()),
        text: &generated.message.content.text(),
        finish_reason: generated.finish,
        usage: Usage::new(counts(&committed)),
    }))
}
