//! Sampled tokens as completions tell them.

use std::sync::Arc;

use verbatim_dialects::Sampling;
use verbatim_dialects::completions::{Logprobs, Spelt};
use verbatim_session::SampledToken;
use verbatim_tokenizer::Tokenizer;

/// Spells stretches of one reply, one after the other.
pub(super) struct Speller {
    tokenizer: Arc<dyn Tokenizer>,
    logprobs: bool,
    alternatives: bool,
    token_ids: bool,
    /// Characters of the tokens spelt so far.
    offset: usize,
}

impl Speller {
    pub(super) fn new(tokenizer: Arc<dyn Tokenizer>, asked: &Sampling, token_ids: bool) -> Self {
        let (logprobs, alternatives) = (asked.logprobs, asked.top_logprobs > 0);
        Self { tokenizer, logprobs, alternatives, token_ids, offset: 0 }
    }

    /// A stretch with its tokens.
    pub(super) fn spell(&mut self, text: String, tokens: &[SampledToken]) -> Spelt {
        let token_ids = self.token_ids.then(|| tokens.iter().map(|token| token.id.0).collect());
        let logprobs = self.logprobs.then(|| self.entries(tokens));
        Spelt { text, logprobs, token_ids }
    }

    fn entries(&mut self, tokens: &[SampledToken]) -> Logprobs {
        let mut entries = Logprobs { top_logprobs: self.alternatives.then(Vec::new), ..Logprobs::default() };
        for token in tokens {
            let text = self.tokenizer.text(&[token.id]);
            entries.text_offset.push(self.offset);
            self.offset += text.chars().count();
            entries.tokens.push(text);
            entries.token_logprobs.push(token.logprob);
            if let Some(all) = &mut entries.top_logprobs {
                let one = |(id, logprob): &(_, f32)| (self.tokenizer.text(&[*id]), *logprob);
                all.push(token.top.iter().map(one).collect());
            }
        }
        entries
    }
}
