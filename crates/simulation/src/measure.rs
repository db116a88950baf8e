//! What a simulation came to.

use std::time::Duration;

/// Sums over one simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Virtual time from the first step's opening to the last one's close.
    pub took: Duration,
    /// Permits times that time.
    pub capacity: Duration,
    /// The time that attempts ran, summed.
    pub busy: Duration,
    /// From each step's opening to its close.
    pub steps: Vec<Duration>,
    /// From each step's opening to the next one's, the last one's close.
    pub cycles: Vec<Duration>,
    /// Groups that were accepted.
    pub accepted: usize,
    /// Groups that were dropped because their step was complete.
    pub surplus: usize,
    /// Groups that the shell did without.
    pub unwanted: usize,
    /// Groups that were dropped for any other cause.
    pub dropped: usize,
    /// Rollouts that ended because Groups failed one after the other: 0 or 1.
    pub gave_up: usize,
    /// Tokens of accepted Groups.
    pub useful_tokens: u64,
    /// Tokens that were sampled.
    pub sampled_tokens: u64,
    /// Attempts that a closing step or gate aborted.
    pub aborted: usize,
    /// The most steps between the weights a Group was leased at and those its step was trained on.
    pub staleness: u64,
    /// Steps of the scheduler.
    pub inputs: u64,
}

impl Measured {
    /// The share of the engine's capacity that was used.
    pub fn busy_fraction(&self) -> f64 {
        self.busy.as_secs_f64() / self.capacity.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}
