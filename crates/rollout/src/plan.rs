//! What a rollout is to do.

use verbatim_agents::Agent;
use verbatim_samples::Pick;

use crate::Credit;

/// A rollout: for each task a group of sessions, for each session an agent.
#[derive(Clone)]
pub struct Plan {
    /// How agents run.
    pub agent: Agent,
    /// How sessions and groups are rewarded.
    pub credit: Credit,
    /// Sessions a group, as the scheduler's rules say.
    pub group_size: usize,
    /// `train` or `eval`.
    pub mode: String,
    /// Which leaves become rows.
    pub pick: Pick,
    /// No row is longer.
    pub max_seq_len: Option<usize>,
    /// The model's name, for the agents.
    pub model: String,
}
