//! Logprobs that are there or are not, never invented.

use serde::{Deserialize, Serialize};

/// Which distribution a logprob was read from.
///
/// Engines differ (SGLang after temperature, vLLM and llama.cpp before it by default), and a
/// trainer must not mix them inside one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogprobKind {
    /// Log-softmax of the raw logits, before temperature and truncation.
    Raw,
    /// After temperature, before top-k and top-p.
    Tempered,
    /// Of the distribution that was sampled: after temperature, top-k and top-p.
    Processed,
}

/// One logprob a token, `None` where the engine gave none.
///
/// Stored as four bytes a token: a missing value is a NaN that never leaves this type.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Option<f32>>", into = "Vec<Option<f32>>")]
pub struct Logprobs(Vec<f32>);

impl Logprobs {
    /// How many tokens are covered, missing values included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no token is covered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the next token's logprob. Values that are no logprob (NaN, infinite, or one of the
    /// sentinels that engines send for "none": vLLM's -9999, llama.cpp's -3.4e38) count as missing.
    pub fn push(&mut self, value: Option<f32>) {
        self.0.push(match value {
            Some(v) if v.is_finite() && v > -9990.0 => v,
            _ => f32::NAN,
        });
    }

    /// The logprob of token `at`; `None` if it is missing or out of range.
    pub fn get(&self, at: usize) -> Option<f32> {
        self.0.get(at).copied().filter(|v| !v.is_nan())
    }

    /// Every value in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<f32>> + '_ {
        self.0.iter().map(|v| (!v.is_nan()).then_some(*v))
    }

    /// Forgets every token from `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Gives back what growth reserved.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}

impl From<Vec<Option<f32>>> for Logprobs {
    fn from(values: Vec<Option<f32>>) -> Self {
        values.into_iter().collect()
    }
}

impl From<Logprobs> for Vec<Option<f32>> {
    fn from(logprobs: Logprobs) -> Self {
        logprobs.iter().collect()
    }
}

impl FromIterator<Option<f32>> for Logprobs {
    fn from_iter<I: IntoIterator<Item = Option<f32>>>(values: I) -> Self {
        let mut out = Self::default();
        values.into_iter().for_each(|v| out.push(v));
        out
    }
}

impl PartialEq for Logprobs {
    /// Bit equality, so that two missing values are equal and `-0.0` is not `0.0`.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

impl std::fmt::Debug for Logprobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_send_for_none_is_missing() {
        let sent = [None, Some(f32::NAN), Some(-9999.0), Some(-3.4e38), Some(f32::NEG_INFINITY), Some(-0.5)];
        let kept: Logprobs = sent.into_iter().collect();
        assert_eq!(kept.iter().collect::<Vec<_>>(), [None, None, None, None, None, Some(-0.5)]);
    }
}
