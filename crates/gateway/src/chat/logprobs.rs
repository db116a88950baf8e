//! Sampled tokens as OpenAI's logprobs.

use verbatim_dialects::chat::{Alternative, TokenLogprob};
use verbatim_session::SampledToken;
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

/// OpenAI's value for "no logprob".
const NONE: f32 = -9999.0;

/// One entry a token.
pub(super) fn entries(tokenizer: &dyn Tokenizer, tokens: &[SampledToken]) -> Vec<TokenLogprob> {
    tokens
        .iter()
        .map(|sampled| {
            let (token, bytes) = spell(tokenizer, sampled.id);
            let top_logprobs = sampled
                .top
                .iter()
                .map(|(id, logprob)| {
                    let (token, bytes) = spell(tokenizer, *id);
                    Alternative { token, logprob: *logprob, bytes }
                })
                .collect();
            TokenLogprob { token, logprob: sampled.logprob.unwrap_or(NONE), bytes, top_logprobs }
        })
        .collect()
}

fn spell(tokenizer: &dyn Tokenizer, id: TokenId) -> (String, Vec<u8>) {
    (tokenizer.text(&[id]), tokenizer.bytes(id).to_vec())
}
