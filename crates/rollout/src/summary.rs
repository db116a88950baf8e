//! What came of a rollout.
//!
//! The invariant: rewards are counted by session, however many rows it has; a failed session has none.

use std::collections::BTreeMap;

use verbatim_samples::Row;

use crate::Outcome;

/// A session whose reward is at least this has passed.
const PASS: f64 = 1.0;

/// Sums over groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Groups whose rows are on disk.
    pub groups: usize,
    /// Dropped groups by cause.
    pub dropped: BTreeMap<&'static str, usize>,
    /// Sessions, retries included.
    pub sessions: usize,
    /// Sessions that failed.
    pub failed_sessions: usize,
    /// Committed turns.
    pub turns: usize,
    /// Sampled tokens.
    pub sampled_tokens: usize,
    /// Rows on disk.
    pub rows: usize,
    /// Tokens that carry loss.
    pub trained_tokens: usize,
    /// Rewards of the kept sessions that have one: the mean of a session's rows.
    pub rewards: Vec<f64>,
    /// Sessions of those, one of whose rows has a reward of at least 1.
    pub passed: usize,
    /// The other numbers of rewards that are objects, by name: their sum over sessions, and of how many.
    pub metrics: BTreeMap<String, (f64, usize)>,
    /// Groups whose sessions differ in reward: those that teach something under group-normalised
    /// advantages.
    pub mixed_groups: usize,
}

impl Summary {
    /// Counts a group; `key` is the field of a reward that is the reward.
    pub(crate) fn add(&mut self, outcome: &Outcome, key: &str) {
        self.sessions += outcome.sessions;
        self.failed_sessions += outcome.failed_sessions;
        self.turns += outcome.turns;
        self.sampled_tokens += outcome.sampled_tokens;
        if let Some(cause) = &outcome.dropped {
            *self.dropped.entry(cause.name()).or_default() += 1;
            return;
        }
        self.groups += 1;
        self.rows += outcome.rows.len();
        self.trained_tokens += outcome.rows.iter().map(|row| row.trained()).sum::<usize>();
        // All rows of a session lie beside each other.
        let sessions: Vec<_> = outcome.rows.chunk_by(|a, b| a.session == b.session).collect();
        let rewards: Vec<f64> = sessions.iter().filter_map(|rows| reward_of(rows)).collect();
        self.mixed_groups += usize::from(rewards.iter().any(|reward| Some(reward) != rewards.first()));
        let passed = |rows: &&&[Row]| rows.iter().any(|row| row.reward.is_some_and(|reward| reward >= PASS));
        self.passed += sessions.iter().filter(passed).count();
        self.rewards.extend(rewards);
        for rows in sessions {
            for (name, number) in metrics_of(rows, key) {
                let (sum, count) = self.metrics.entry(name).or_default();
                *sum += number;
                *count += 1;
            }
        }
    }

    /// The mean reward, if there is any.
    pub fn mean_reward(&self) -> Option<f64> {
        (!self.rewards.is_empty()).then(|| self.rewards.iter().sum::<f64>() / self.rewards.len() as f64)
    }

    /// The share of sessions with a reward that passed, if there is any.
    pub fn pass_rate(&self) -> Option<f64> {
        (!self.rewards.is_empty()).then(|| self.passed as f64 / self.rewards.len() as f64)
    }
}

/// The numbers of a session's reward beside the reward, if it is an object.
pub(crate) fn metrics_of(rows: &[Row], key: &str) -> Vec<(String, f64)> {
    let told = rows.iter().find_map(|row| row.metadata.get("reward")?.as_object());
    let others = told.into_iter().flatten().filter(|(name, _)| *name != key);
    others.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// A session's reward: the mean of its rows that have one.
pub(crate) fn reward_of(rows: &[Row]) -> Option<f64> {
    let rewards: Vec<f64> = rows.iter().filter_map(|row| row.reward).collect();
    (!rewards.is_empty()).then(|| rewards.iter().sum::<f64>() / rewards.len() as f64)
}
