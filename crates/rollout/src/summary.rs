//! What came of a rollout.

use std::collections::BTreeMap;

use crate::Outcome;

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
    /// Rewards of the rows that have one.
    pub rewards: Vec<f64>,
    /// Groups whose rows differ in reward: those that teach something under group-normalised
    /// advantages.
    pub mixed_groups: usize,
}

impl Summary {
    /// Counts a group.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.sessions += outcome.sessions;
        self.failed_sessions += outcome.failures.len();
        self.turns += outcome.turns;
        self.sampled_tokens += outcome.sampled_tokens;
        if let Some(cause) = &outcome.dropped {
            *self.dropped.entry(cause.name()).or_default() += 1;
            return;
        }
        self.groups += 1;
        self.rows += outcome.rows.len();
        self.trained_tokens += outcome.rows.iter().map(|row| row.trained()).sum::<usize>();
        let rewards: Vec<f64> = outcome.rows.iter().filter_map(|row| row.reward).collect();
        self.mixed_groups += usize::from(rewards.iter().any(|reward| Some(reward) != rewards.first()));
        self.rewards.extend(rewards);
    }

    /// The mean reward, if there is any.
    pub fn mean_reward(&self) -> Option<f64> {
        (!self.rewards.is_empty()).then(|| self.rewards.iter().sum::<f64>() / self.rewards.len() as f64)
    }
}
