//! What the engine does with a turn.

use std::time::Duration;

use verbatim_scheduler::SessionId;

use crate::Workload;

/// A turn as the engine and its client know it.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) session: SessionId,
    /// Tokens it will have.
    pub(crate) tokens: u64,
    /// Tokens of the attempts that are over.
    pub(crate) sampled: u64,
    /// Tokens before it.
    pub(crate) context: u64,
    /// How many attempts it has had.
    pub(crate) attempts: u64,
    /// The attempt that runs.
    pub(crate) running: Option<Attempt>,
    /// Its client is gone.
    pub(crate) left: bool,
}

/// A running attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) since: Duration,
    /// It was told to end.
    pub(crate) aborting: bool,
}

impl Turn {
    fn prefill(&self, workload: &Workload) -> f64 {
        (self.context + self.sampled) as f64 * workload.prefill
    }

    /// How long an attempt takes that samples all that is left.
    pub(crate) fn rest(&self, workload: &Workload) -> Duration {
        let left = self.tokens - self.sampled;
        Duration::from_secs_f64(self.prefill(workload) + left as f64 / workload.rate)
    }

    /// What the running attempt has sampled by `now`.
    pub(crate) fn so_far(&self, workload: &Workload, now: Duration) -> u64 {
        let Some(attempt) = self.running else { return 0 };
        let time = (now.saturating_sub(attempt.since)).as_secs_f64() - self.prefill(workload);
        ((time.max(0.0) * workload.rate) as u64).min(self.tokens - self.sampled)
    }
}
