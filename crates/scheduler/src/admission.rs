//! How many tokens may be at the engine at once.
//!
//! The invariant: the turns that run need no more than the budget, but for one that needs more by itself and
//! runs alone. A turn that does not fit is passed by later ones that do, until it has waited as long as it is
//! patient: then nothing goes before it, so that room for it comes about.

use std::time::{Duration, Instant};

/// Tokens that a turn will hold at the engine: its prompt, and what it is expected to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

/// What the engine holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Tokens.
    pub tokens: u64,
    /// How long a turn lets others pass.
    pub patience: Duration,
}

/// Goes through the queue once and says who may go.
#[derive(Debug)]
pub(crate) struct Admission {
    budget: Option<Budget>,
    used: u64,
    /// Someone has waited long enough: who is behind it waits too.
    barred: bool,
}

impl Admission {
    /// Turns that cost `used` run.
    pub(crate) fn new(budget: Option<Budget>, used: u64) -> Self {
        Self { budget, used, barred: false }
    }

    /// Whether the next turn in the queue, which could go since `since`, goes now.
    pub(crate) fn admits(&mut self, cost: Cost, since: Instant, now: Instant) -> bool {
        let Some(budget) = self.budget else { return true };
        let fits = self.used == 0 || self.used.saturating_add(cost.0) <= budget.tokens;
        if fits && !self.barred {
            self.used = self.used.saturating_add(cost.0);
            return true;
        }
        self.barred |= now.saturating_duration_since(since) >= budget.patience;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { tokens: 100, patience: Duration::from_secs(30) };

    fn admitted(used: u64, waited: u64, costs: &[u64]) -> Vec<u64> {
        let since = Instant::now();
        let now = since + Duration::from_secs(waited);
        let mut admission = Admission::new(Some(BUDGET), used);
        costs.iter().copied().filter(|cost| admission.admits(Cost(*cost), since, now)).collect()
    }

    #[test]
    fn what_fits_passes_what_does_not_until_that_has_waited() {
        assert_eq!(admitted(50, 0, &[60, 30, 30, 20]), [30, 20]);
        assert_eq!(admitted(50, 30, &[60, 30, 30, 20]), []);
        assert_eq!(admitted(50, 30, &[40, 60, 10]), [40], "who is before it still goes");
        assert_eq!(admitted(0, 0, &[500, 1]), [500], "too large for any: alone");
        assert_eq!(admitted(1, 0, &[500, 99]), [99]);
    }

    #[test]
    fn without_a_budget_everything_goes() {
        let now = Instant::now();
        let mut admission = Admission::new(None, u64::MAX);
        assert!(admission.admits(Cost(u64::MAX), now, now));
    }
}
