//! An agent's active time.

use std::time::{Duration, Instant};

/// Counts while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    before: Duration,
    since: Option<Instant>,
}

impl Meter {
    /// Starts or stops it; what it is already changes nothing.
    pub(crate) fn set(&mut self, runs: bool, now: Instant) {
        match (self.since, runs) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.before += now.saturating_duration_since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// When `budget` is used up, if it goes on as now.
    pub(crate) fn ends(&self, budget: Duration) -> Option<Instant> {
        self.since?.checked_add(budget.saturating_sub(self.before))
    }
}
