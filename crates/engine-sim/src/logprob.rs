//! A logprob that depends on every id before.

use verbatim_tokens::TokenId;

/// A rolling hash over ids, seeded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rolling(u64);

impl Rolling {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// The state after `ids`.
    pub(crate) fn over(mut self, ids: &[TokenId]) -> Self {
        ids.iter().for_each(|id| {
            self.take(*id);
        });
        self
    }

    /// Moves past `id` and returns its logprob: in (-4, 0], a function of the seed and of all ids up
    /// to and including this one.
    pub(crate) fn take(&mut self, id: TokenId) -> f32 {
        let mixed = (self.0 ^ u64::from(id.0)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 = mixed ^ (mixed >> 29);
        let unit = (self.0 >> 40) as f32 / (1u64 << 24) as f32;
        -4.0 * unit
    }
}
