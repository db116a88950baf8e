//! Log-softmax of one row of logits, unmodified.
//!
//! The invariant: the same logits give the same value in decoding and in scoring, for both ask here.

use std::cmp::Ordering;

use verbatim_tokens::TokenId;

/// A row of logits and the logarithm of its sum of exponentials.
pub(crate) struct LogSoftmax<'a> {
    logits: &'a [f32],
    sum: f64,
}

impl<'a> LogSoftmax<'a> {
    /// `logits` is `[vocabulary]`.
    pub(crate) fn new(logits: &'a [f32]) -> Self {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|logit| f64::from((logit - most).exp())).sum();
        Self { logits, sum: f64::from(most) + sum.ln() }
    }

    /// The logprob of `id`, which must be in the vocabulary.
    pub(crate) fn of(&self, id: TokenId) -> f32 {
        self.logits
            .get(id.0 as usize)
            .map_or(f32::NEG_INFINITY, |logit| (f64::from(*logit) - self.sum) as f32)
    }

    /// The `count` likeliest ids, best first, the lower id first among equals.
    pub(crate) fn top(&self, count: usize) -> Vec<(TokenId, f32)> {
        let order = |a: &u32, b: &u32| -> Ordering {
            self.logits[*b as usize].total_cmp(&self.logits[*a as usize]).then(a.cmp(b))
        };
        let count = count.min(self.logits.len());
        if count == 0 {
            return Vec::new();
        }
        let mut ids: Vec<u32> = (0..self.logits.len() as u32).collect();
        ids.select_nth_unstable_by(count - 1, order);
        ids.truncate(count);
        ids.sort_unstable_by(order);
        ids.into_iter().map(|id| (TokenId(id), self.of(TokenId(id)))).collect()
    }
}
