//! What is known of a group while it runs, and how it ended.

use serde::Serialize;
use verbatim_events::{Cause, GroupId};
use verbatim_samples::Row;
use verbatim_scheduler::{DropCause, SessionId};

use crate::Task;
use crate::member::Ended;
use crate::tasks::Taken;

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

/// Where a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its agents start, or its first requests are not all there.
    Warming,
    /// It is held at its barrier until a step has room for it.
    Ready,
    /// It samples.
    Leased,
    /// It has finished, and no step has taken it.
    Finalised,
    /// A step has taken it; its rows were not taken for good yet.
    Delivering,
}

/// A group under way: its task, and the sessions of it that have ended.
pub(crate) struct Group {
    pub(crate) name: GroupId,
    pub(crate) task: Task,
    pub(crate) phase: Phase,
    ended: Vec<(SessionId, Ended)>,
}

impl Group {
    /// A group of a task. `mode` is `train` or `eval`. Its name says the task, and the epoch but for the first.
    pub(crate) fn new(mode: &str, Taken { task, epoch }: Taken) -> Self {
        let name = match epoch {
            0 => format!("{mode}:{}", task.index),
            epoch => format!("{mode}:{}:{epoch}", task.index),
        };
        Self { name: GroupId::new(name), task, phase: Phase::Warming, ended: Vec::new() }
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
                Ok(made) => rows.push((session, made)),
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
            DropCause::Discarded => Cause::Discarded,
            DropCause::Interrupted => Cause::Interrupted,
        });
        if outcome.dropped.is_none() {
            rows.sort_by_key(|(session, _)| *session);
            outcome.rows = rows.into_iter().flat_map(|(_, made)| made).collect();
        }
        outcome
    }
}
