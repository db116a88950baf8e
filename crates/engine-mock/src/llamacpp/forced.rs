//! One token forced by a bias: how a client scores given ids on a server that has no request for it.

use axum::response::Response;
use serde_json::{Value, json};
use verbatim_tokens::TokenId;

use crate::answer::json as respond;
use crate::call::Call;

/// A bias that no logit outweighs.
const CERTAIN: f64 = 100.0;

/// The id that is forced, if exactly one token is asked for and one is.
pub(super) fn forced(body: &Value) -> Option<u32> {
    let biases = body["logit_bias"].as_array().filter(|_| body["n_predict"] == 1)?;
    let mut certain = biases.iter().filter(|pair| pair[1].as_f64().is_some_and(|bias| bias >= CERTAIN));
    certain.next()?[0].as_u64().and_then(|id| u32::try_from(id).ok())
}

/// The reply: the forced token with the logprob that it has without the bias.
pub(super) async fn reply(call: &Call, mut ids: Vec<u32>, id: u32) -> Response {
    let from = ids.len();
    ids.push(id);
    let all: Vec<TokenId> = ids.into_iter().map(TokenId).collect();
    let scored = match call.shared.engine.score() {
        Some(scorer) => scorer.score(all, from).await.ok(),
        None => None,
    };
    let logprob = scored.and_then(|scores| scores.last().copied().flatten()).unwrap_or(f32::MIN);
    let text = call.shared.text(&[id]).unwrap_or_default();
    let entry =
        json!({ "id": id, "token": text, "bytes": text.as_bytes(), "logprob": logprob, "top_logprobs": [] });
    respond(
        200,
        json!({
            "index": 0, "content": text, "tokens": [id], "id_slot": 0, "stop": true, "stop_type": "limit",
            "stopping_word": "", "tokens_predicted": 1, "tokens_evaluated": from, "truncated": false,
            "completion_probabilities": [entry],
        }),
    )
}
