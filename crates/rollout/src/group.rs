//! What is known of a group while it runs, and how it ended.

use verbatim_events::{Cause, GroupId};
use verbatim_samples::Row;
use verbatim_scheduler::{DropCause, SessionId, Unwanted};

use crate::Task;
use crate::member::Ended;

/// How a group ended.
#[derive(Debug)]
pub struct Outcome {
    /// The group.
    pub group: GroupId,
    /// Its rows; none if it was dropped.
    pub rows: Vec<Row>,
    /// Why it was dropped.
    pub dropped: Option<Cause>,
    /// What its sessions' agents said of themselves, failures as their texts.
    pub failures: Vec<String>,
    /// Sessions that were run, retries included.
    pub sessions: usize,
    /// Turns that were committed, those of failed sessions included.
    pub turns: usize,
    /// Tokens that were sampled, those of failed sessions included.
    pub sampled_tokens: usize,
}

/// A group under way: its task, and the sessions of it that have ended.
pub(crate) struct Group {
    pub(crate) name: GroupId,
    pub(crate) task: Task,
    ended: Vec<(SessionId, Ended)>,
}

impl Group {
    /// A group of a task. `mode` is `train` or `eval`.
    pub(crate) fn new(mode: &str, task: Task) -> Self {
        Self { name: GroupId::new(format!("{mode}:{}", task.index)), task, ended: Vec::new() }
    }

    /// Takes one session's end.
    pub(crate) fn end(&mut self, session: SessionId, ended: Ended) {
        self.ended.push((session, ended));
    }

    /// The outcome: rows in the order of their places if the group was kept; failures in the order in which
    /// they came, for the first one is why the others were told to end.
    pub(crate) fn outcome(self, dropped: Option<DropCause>) -> Outcome {
        let mut outcome = Outcome {
            group: self.name,
            rows: Vec::new(),
            dropped: None,
            failures: Vec::new(),
            sessions: self.ended.len(),
            turns: 0,
            sampled_tokens: 0,
        };
        let mut first = None;
        let mut rows = Vec::new();
        for (session, ended) in self.ended {
            outcome.turns += ended.turns;
            outcome.sampled_tokens += ended.sampled_tokens;
            match ended.result {
                Ok(made) => rows.push((session, made.rows)),
                Err(failed) => {
                    outcome.failures.push(format!("session {}: {}", session.place, failed.text));
                    first.get_or_insert(failed.cause);
                }
            }
        }
        outcome.dropped = dropped.map(|dropped| match dropped {
            DropCause::Barrier => Cause::BarrierExpired,
            DropCause::Failed => first.unwrap_or(Cause::NoTurns),
            DropCause::Surplus => Cause::Surplus,
            DropCause::Unwanted(Unwanted::Discarded) => Cause::Discarded,
            DropCause::Unwanted(Unwanted::Filtered) => Cause::Filtered { reason: String::new() },
            DropCause::Unwanted(Unwanted::NotScored) => Cause::RewardFailed,
            DropCause::Interrupted => Cause::Interrupted,
        });
        if outcome.dropped.is_none() {
            rows.sort_by_key(|(session, _)| *session);
            outcome.rows = rows.into_iter().flat_map(|(_, made)| made).collect();
        }
        outcome
    }
}
