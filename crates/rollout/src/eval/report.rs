//! What an evaluation came to.
//!
//! The invariant: shares are of all sessions; a session that failed has not passed, and is no reward of 0 in the mean.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::task::Sample;
use super::{Lane, pass_at};
use crate::summary::{metrics_of, reward_of};

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvalReport {
    /// Its number.
    pub evaluation: u64,
    /// Its datasets.
    pub datasets: Vec<DatasetReport>,
}

/// One dataset of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetReport {
    /// Its name.
    pub dataset: String,
    /// Tasks.
    pub tasks: usize,
    /// Sessions a task.
    pub samples: usize,
    /// Sessions, all of them.
    pub sessions: usize,
    /// Those that failed, or whose reward could not be had, by cause.
    pub failed: BTreeMap<&'static str, usize>,
    /// Those whose reward is at least what passes.
    pub passed: usize,
    /// The share of all sessions that passed.
    pub pass_rate: f64,
    /// For each k how likely one of k sessions of a task passes, the mean over tasks.
    pub pass_at: BTreeMap<usize, f64>,
    /// The mean reward of those that have one.
    pub mean_reward: Option<f64>,
    /// How many have one.
    pub rewarded: usize,
    /// The means of the other numbers of rewards that are objects.
    pub metrics: BTreeMap<String, f64>,
    /// Committed turns.
    pub turns: usize,
    /// Sampled tokens.
    pub sampled_tokens: usize,
    /// Seconds from its first session's start to its last one's end.
    pub seconds: f64,
}

impl DatasetReport {
    pub(super) fn of(lane: &Lane, tasks: &[Vec<Sample>], key: &str, took: Duration) -> Self {
        let all = || tasks.iter().flatten();
        let finished = || all().filter_map(|sample| sample.result.as_ref().ok());
        let rewards: Vec<f64> = finished().filter_map(|finished| reward_of(&finished.rows)).collect();
        let has_passed = |sample: &&Sample| {
            let rows = sample.result.as_ref().map(|finished| finished.rows.as_slice()).unwrap_or_default();
            rows.iter().any(|row| row.reward.is_some_and(|reward| reward >= lane.pass))
        };
        let passed_of: Vec<usize> =
            tasks.iter().map(|samples| samples.iter().filter(has_passed).count()).collect();
        let mut failed = BTreeMap::new();
        for cause in all().filter_map(|sample| sample.result.as_ref().err()) {
            *failed.entry(cause.name()).or_default() += 1;
        }
        let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
        for (name, number) in finished().flat_map(|finished| metrics_of(&finished.rows, key)) {
            let (sum, count) = sums.entry(name).or_default();
            (*sum, *count) = (*sum + number, *count + 1);
        }
        let sessions = all().count();
        let passed = passed_of.iter().sum();
        let share = |passed: f64, all: usize| if all == 0 { 0.0 } else { passed / all as f64 };
        let mean_pass_at = |k: usize| {
            let of_tasks = passed_of.iter().map(|passed| pass_at::pass_at(k, lane.samples, *passed));
            (k, share(of_tasks.sum(), tasks.len()))
        };
        Self {
            dataset: lane.name.clone(),
            tasks: tasks.len(),
            samples: lane.samples,
            sessions,
            failed,
            passed,
            pass_rate: share(passed as f64, sessions),
            pass_at: pass_at::told(lane.samples).into_iter().map(mean_pass_at).collect(),
            mean_reward: (!rewards.is_empty()).then(|| rewards.iter().sum::<f64>() / rewards.len() as f64),
            rewarded: rewards.len(),
            metrics: sums.into_iter().map(|(name, (sum, count))| (name, sum / count as f64)).collect(),
            turns: all().map(|sample| sample.turns).sum(),
            sampled_tokens: all().map(|sample| sample.sampled_tokens).sum(),
            seconds: took.as_secs_f64(),
        }
    }
}
