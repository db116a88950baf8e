//! Leaving a failing engine alone for a while.

use std::time::{Duration, Instant};

/// Failures in a row after which an engine is left alone.
const TOLERATED: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// A circuit breaker: closed (in use), open (left alone until a time), half open (one attempt tries).
#[derive(Debug)]
pub(super) struct Breaker {
    failures: u32,
    pause: Duration,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { failures: 0, pause: FIRST_PAUSE, state: State::Closed }
    }
}

impl Breaker {
    /// Whether an attempt could be sent now.
    pub(super) fn admits(&self, now: Instant) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { until } => until <= now,
            State::HalfOpen => false,
        }
    }

    /// An attempt is sent. After a pause it is the one that tries.
    pub(super) fn sent(&mut self) {
        if matches!(self.state, State::Open { .. }) {
            self.state = State::HalfOpen;
        }
    }

    /// The engine answered.
    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// An attempt failed for the engine's sake.
    pub(super) fn failed(&mut self, now: Instant) {
        self.failures += 1;
        if self.failures >= TOLERATED || self.state == State::HalfOpen {
            self.trip(now);
        }
    }

    /// The engine is known to be down.
    pub(super) fn trip(&mut self, now: Instant) {
        self.state = State::Open { until: now + self.pause };
        self.pause = (self.pause * 2).min(LAST_PAUSE);
    }

    /// The engine is known to be up again: the next attempt may try.
    pub(super) fn recovered(&mut self, now: Instant) {
        if let State::Open { until } = &mut self.state {
            *until = now;
            self.pause = FIRST_PAUSE;
        }
    }

    /// The one that tried ended without a verdict.
    pub(super) fn undecided(&mut self, now: Instant) {
        if self.state == State::HalfOpen {
            self.state = State::Open { until: now };
        }
    }

    /// How often it failed since it last answered.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// The state's name.
    pub(super) fn name(&self) -> &'static str {
        match self.state {
            State::Closed => "closed",
            State::Open { .. } => "open",
            State::HalfOpen => "half_open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_left_alone_after_failures_in_a_row_and_tried_by_one() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 1..TOLERATED {
            breaker.failed(now);
            assert!(breaker.admits(now));
        }
        breaker.failed(now);
        assert!(!breaker.admits(now) && breaker.name() == "open");
        let later = now + FIRST_PAUSE;
        assert!(breaker.admits(later));
        breaker.sent();
        assert!(!breaker.admits(later), "one tries, the others wait for it");
        breaker.failed(later);
        assert!(!breaker.admits(later + FIRST_PAUSE), "the pause doubles");
        assert!(breaker.admits(later + FIRST_PAUSE * 2));
        breaker.sent();
        breaker.succeeded();
        assert!(breaker.admits(later) && breaker.name() == "closed");
    }

    #[test]
    fn a_trial_without_a_verdict_makes_room_for_another() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        breaker.trip(now);
        breaker.recovered(now);
        assert!(breaker.admits(now));
        breaker.sent();
        breaker.undecided(now);
        assert!(breaker.admits(now));
    }
}
