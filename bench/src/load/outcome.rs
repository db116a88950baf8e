//! What a run measured, and how it is printed.

use std::fmt;

use crate::stats::{percentile, sorted};

/// One run's figures. Times are milliseconds; memory is bytes, and that of the first round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Seconds from the first turn's request to the last turn's reply, summed over rounds.
    pub(super) wall: f64,
    /// One for each turn.
    pub(crate) latencies: Vec<f64>,
    /// Seconds of the server's CPU, in the same time.
    pub(super) cpu: f64,
    /// Tokens committed.
    pub(super) committed: usize,
    /// Tokens that the server holds at the end of a round.
    pub(super) stored: usize,
    /// The server's memory when no session was open.
    pub(super) resident: u64,
    /// How much more it was afterwards, every session still open.
    pub(super) grown: u64,
    /// The most it was.
    pub(super) peak: u64,
    /// Bytes for each token, over the second half of the tokens.
    pub(super) growth: f64,
    /// One for each samples op.
    pub(super) samples: Vec<f64>,
}

const MIB: f64 = (1 << 20) as f64;

type Figure = (&'static str, usize, fn(&Outcome) -> f64);

/// What is printed: name, decimals, value.
const FIGURES: [Figure; 16] = [
    ("turns/s", 0, Outcome::turns_a_second),
    ("tokens/s committed", 0, |o| o.committed as f64 / o.wall),
    ("latency mean, ms", 2, |o| o.latencies.iter().sum::<f64>() / o.latencies.len().max(1) as f64),
    ("latency p50, ms", 2, |o| percentile(&o.latencies, 0.5)),
    ("latency p95, ms", 2, |o| percentile(&o.latencies, 0.95)),
    ("latency p99, ms", 2, |o| percentile(&o.latencies, 0.99)),
    ("latency max, ms", 2, |o| percentile(&o.latencies, 1.0)),
    ("server CPU a turn, us", 0, Outcome::cpu_a_turn),
    ("server CPU, cores", 2, |o| o.cpu / o.wall),
    ("samples op p50, ms", 2, |o| percentile(&o.samples, 0.5)),
    ("samples op max, ms", 2, |o| percentile(&o.samples, 1.0)),
    ("tokens stored", 0, |o| o.stored as f64),
    ("RSS before, MiB", 1, |o| o.resident as f64 / MIB),
    ("RSS peak, MiB", 1, |o| o.peak as f64 / MIB),
    ("RSS grown a token, bytes", 1, |o| o.grown as f64 / o.stored.max(1) as f64),
    ("the same, second half", 1, |o| o.growth),
];

impl Outcome {
    pub(crate) fn turns_a_second(&self) -> f64 {
        self.latencies.len() as f64 / self.wall
    }

    /// Microseconds of the server's CPU.
    pub(crate) fn cpu_a_turn(&self) -> f64 {
        self.cpu * 1e6 / self.latencies.len().max(1) as f64
    }

    /// Brings times into the order that percentiles need.
    pub(super) fn sort(&mut self) {
        self.latencies = sorted(std::mem::take(&mut self.latencies));
        self.samples = sorted(std::mem::take(&mut self.samples));
    }

    /// The lowest and the highest of each figure.
    pub(super) fn ranges(outcomes: &[Self]) -> String {
        let line = |(name, decimals, value): Figure| {
            let values = outcomes.iter().map(value);
            let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max));
            format!("  {name:<26}{low:>12.decimals$} – {high:.decimals$}\n")
        };
        FIGURES.map(line).concat().trim_end().to_owned()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |(name, decimals, value): Figure| format!("  {name:<26}{:>12.decimals$}\n", value(self));
        f.write_str(FIGURES.map(line).concat().trim_end())
    }
}
