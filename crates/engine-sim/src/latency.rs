//! How long a simulated engine takes.

use std::time::Duration;

/// A linear model: reading costs by new prompt token, sampling by token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Before anything else.
    pub fixed: Duration,
    /// For each prompt token that is not cached.
    pub prefill_token: Duration,
    /// For each sampled token.
    pub decode_token: Duration,
}

impl Latency {
    /// No time at all.
    pub const NONE: Self =
        Self { fixed: Duration::ZERO, prefill_token: Duration::ZERO, decode_token: Duration::ZERO };

    /// Until the first token can be sampled.
    pub(crate) fn before_first(&self, new_tokens: usize) -> Duration {
        self.fixed + self.prefill_token * u32::try_from(new_tokens).unwrap_or(u32::MAX)
    }
}
