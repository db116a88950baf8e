//! What is known of a group while it runs, and how it ended.

use std::sync::Arc;

use serde::Serialize;
use verbatim_events::{Cause, GroupId, Observers};
use verbatim_samples::Row;
use verbatim_scheduler::{DropCause, GroupId as Number, SessionId, Unwanted};

use crate::Task;
use crate::member::{Ended, Failed};
use crate::score::{Finished, Scorer, UnderWay, Verdicts};
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
    /// What went wrong, as texts, the first first.
    pub failures: Vec<String>,
    /// Sessions that were run, retries included.
    pub sessions: usize,
    /// Those of them that failed.
    pub failed_sessions: usize,
    /// Turns that were committed, those of failed sessions included.
    pub turns: usize,
    /// Tokens that were sampled, those of failed sessions included.
    pub sampled_tokens: usize,
}

impl Outcome {
    /// Of a group whose sessions an earlier server ran.
    pub(crate) fn of_earlier(group: GroupId) -> Self {
        let (rows, failures) = (Vec::new(), Vec::new());
        Self {
            group,
            rows,
            dropped: None,
            failures,
            sessions: 0,
            failed_sessions: 0,
            turns: 0,
            sampled_tokens: 0,
        }
    }
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
    /// Its agents are gone, and its rewards and advantages are asked for.
    Scoring,
    /// It has finished, and no step has taken it.
    Finalised,
    /// A step has taken it; its rows were not taken for good yet.
    Delivering,
}

/// A group under way: its task, and the sessions of it that have ended.
pub(crate) struct Group {
    pub(crate) name: GroupId,
    pub(crate) task: Task,
    /// Its task's place in the dataset, counted on through the epochs.
    pub(crate) number: u64,
    /// How many tasks were taken before it.
    pub(crate) at: u64,
    pub(crate) phase: Phase,
    ended: Vec<EndedSession>,
    scoring: UnderWay,
    rows: Vec<Row>,
    /// Why it is not wanted.
    unwanted: Option<(Cause, Option<String>)>,
}

/// What is kept of a session that has ended.
struct EndedSession {
    place: u32,
    failed: Option<Failed>,
    turns: usize,
    sampled_tokens: usize,
}

impl Group {
    /// A group of a task. `mode` is `train` or `eval`. Its name says the task, and the epoch but for the first.
    pub(crate) fn new(mode: &str, Taken { task, epoch, number, at }: Taken) -> Self {
        let name = match epoch {
            0 => format!("{mode}:{}", task.index),
            epoch => format!("{mode}:{}:{epoch}", task.index),
        };
        Self {
            name: GroupId::new(name),
            task,
            number,
            at,
            phase: Phase::Warming,
            ended: Vec::new(),
            scoring: UnderWay::default(),
            rows: Vec::new(),
            unwanted: None,
        }
    }

    /// Takes one session's end. Of one that ended well the reward is asked for at once.
    pub(crate) fn end(
        &mut self,
        session: SessionId,
        ended: Ended,
        scorer: &Arc<Scorer>,
        observers: &Observers,
        verdicts: &Verdicts,
    ) {
        let Ended { result, turns, sampled_tokens } = ended;
        let failed = match result {
            Ok(finished) if self.unwanted.is_none() => {
                let (name, verdicts) = (self.name.clone(), verdicts.clone());
                self.scoring.session(scorer, observers, session, name, finished, verdicts);
                None
            }
            Ok(_) => None,
            Err(failed) => Some(failed),
        };
        self.ended.push(EndedSession { place: session.place, failed, turns, sampled_tokens });
    }

    /// Has its rewards and advantages asked for, once its sessions' own are there.
    pub(crate) fn score(&mut self, number: Number, scorer: &Arc<Scorer>, verdicts: &Verdicts) {
        self.scoring.group(scorer, number, verdicts.clone());
    }

    /// Takes what it was scored as, in the order of its places.
    pub(crate) fn scored(&mut self, sessions: Vec<Finished>) {
        self.rows = sessions.into_iter().flat_map(|session| session.rows).collect();
    }

    /// Takes why it is not wanted; the first reason stands.
    pub(crate) fn unwanted(&mut self, cause: Cause, text: Option<String>) {
        self.unwanted.get_or_insert((cause, text));
    }

    /// The outcome: rows in the order of their places if the group was kept; failures in the order in which
    /// they came, for the first one is why the others were told to end.
    pub(crate) fn outcome(self, dropped: Option<DropCause>) -> Outcome {
        let (unwanted, text) = self.unwanted.unzip();
        let mut outcome = Outcome {
            group: self.name,
            rows: Vec::new(),
            dropped: None,
            failures: text.flatten().into_iter().collect(),
            sessions: self.ended.len(),
            failed_sessions: 0,
            turns: 0,
            sampled_tokens: 0,
        };
        let mut first = None;
        for ended in self.ended {
            outcome.turns += ended.turns;
            outcome.sampled_tokens += ended.sampled_tokens;
            if let Some(failed) = ended.failed {
                outcome.failed_sessions += 1;
                outcome.failures.push(format!("session {}: {}", ended.place, failed.text));
                first.get_or_insert(failed.cause);
            }
        }
        outcome.dropped = dropped.map(|dropped| match dropped {
            DropCause::Barrier => Cause::BarrierExpired,
            DropCause::Failed => first.unwrap_or(Cause::NoTurns),
            DropCause::Surplus => Cause::Surplus,
            DropCause::Unwanted(Unwanted::Discarded) => Cause::Discarded,
            DropCause::Unwanted(Unwanted::Filtered | Unwanted::NotScored) => {
                unwanted.unwrap_or(Cause::Discarded)
            }
            DropCause::Interrupted => Cause::Interrupted,
        });
        if outcome.dropped.is_none() {
            outcome.rows = self.rows;
        }
        outcome
    }
}
