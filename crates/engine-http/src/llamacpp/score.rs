//! Scoring with llama.cpp, which has no request for it.
//!
//! One token is sampled after each prefix, forced by a bias; the logprob beside it is still the raw one
//! (seen to agree with vLLM's to 2e-4). The slot keeps the prefix, so each takes one step of the model.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use verbatim_engine::{EngineError, Score};
use verbatim_tokens::TokenId;

use super::control::Plane;
use crate::logprob::known;

/// Large enough to win over any other logit.
const BIAS: f32 = 1000.0;

#[derive(Deserialize)]
struct Forced {
    #[serde(default)]
    tokens: Vec<TokenId>,
    #[serde(default)]
    completion_probabilities: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: TokenId,
    logprob: Option<f32>,
}

impl Score for Plane {
    fn score(&self, ids: Vec<TokenId>, from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        async move {
            let mut scores = vec![None; ids.len()];
            for at in from.max(1)..ids.len() {
                scores[at] = self.one(&ids[..at], ids[at]).await?;
            }
            Ok(scores)
        }
        .boxed()
    }
}

impl Plane {
    /// The logprob of `id` after `prefix`; `None` for an id that ends inside a character, of which the
    /// server tells none.
    async fn one(&self, prefix: &[TokenId], id: TokenId) -> Result<Option<f32>, EngineError> {
        let body = json!({
            "prompt": prefix, "n_predict": 1, "logit_bias": [[id, BIAS]], "n_probs": 1, "return_tokens": true,
            "cache_prompt": true, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0,
        });
        let reply = self.host.http.generated("/completion", &body).await?;
        let Forced { tokens, completion_probabilities } = reply;
        if tokens != [id] {
            let reason = format!("it sampled {tokens:?} where only {id} could be");
            return Err(EngineError::Poisoned { reason });
        }
        let entry = completion_probabilities.into_iter().find(|entry| entry.id == id);
        Ok(entry.and_then(|entry| known(entry.logprob)))
    }
}
