//! What a server understood.

use verbatim_engine::{Params, Prompt, SessionKey};
use verbatim_tokens::TokenId;

use crate::seen::Seen;

/// A generate call with the wire's own defaults applied: what the engine behind the mock was asked.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Asked {
    /// The request's name: what an abort must give.
    pub rid: String,
    /// The prompt.
    pub ids: Vec<u32>,
    /// The images that came with it, as bytes; each has its placeholders among the ids.
    pub images: Vec<Vec<u8>>,
    /// How to sample; stop ids hold the model's own too, unless `ignore_eos` was asked for.
    pub params: Params,
    /// Strings that end the turn.
    pub stops: Vec<String>,
    /// The adapter's name.
    pub lora: Option<String>,
    /// As sent: SGLang serves higher ones first, vLLM lower ones.
    pub priority: i64,
    /// The cache's namespace: `extra_key` or `cache_salt`.
    pub namespace: Option<String>,
    /// What names the session: a header for routing, or `session_id`.
    pub session: Option<String>,
    /// The first position whose routed experts are wanted.
    pub experts_start: Option<usize>,
    /// Whether an indexer's choices are wanted.
    pub indexer: bool,
    /// Whether logprobs of sampled tokens were asked for.
    pub logprobs: bool,
    /// The first prompt position to score.
    pub score_from: Option<usize>,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// Sampling keys that the wire ignores silently, as a misspelt one.
    pub ignored: Vec<String>,
}

impl Asked {
    /// What the engine is asked.
    pub(crate) fn prompt(&self) -> Prompt {
        let ids: Vec<TokenId> = self.ids.iter().copied().map(TokenId).collect();
        let session = self.session.as_deref().unwrap_or("mock");
        Prompt::new(ids, SessionKey(session.into()))
    }
}

/// What names the session in a request's headers.
pub(crate) fn session(seen: &Seen) -> Option<String> {
    let named = ["x-smg-routing-key", "x-session-id", "x-verbatim-session"];
    named.iter().find_map(|name| seen.header(name)).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_session_has_one_all_the_same() {
        let asked = Asked { ids: vec![1, 2], ..Asked::default() };
        assert_eq!(&*asked.prompt().session.0, "mock");
    }
}
