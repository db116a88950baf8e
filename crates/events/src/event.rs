//! Everything that can happen, and who listens.

use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_tokens::Version;

use crate::{Cause, GroupId, SessionId, TurnCommitted};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A session can take turns.
    SessionOpened {
        /// The session.
        session: SessionId,
    },
    /// A session came back from the journal with its turns: those were told when they were committed.
    SessionRestored {
        /// The session.
        session: SessionId,
        /// How many turns it has.
        turns: usize,
    },
    /// A session takes no more turns.
    SessionClosed {
        /// The session.
        session: SessionId,
    },
    /// A turn was committed.
    TurnCommitted(Arc<TurnCommitted>),
    /// Something of a session was lost, `count` times.
    Lost {
        /// The session.
        session: SessionId,
        /// Why.
        cause: Cause,
        /// How often: tokens for masks, else 1.
        count: u64,
    },
    /// A group began.
    GroupStarted {
        /// The group.
        group: GroupId,
        /// How many sessions it is to have.
        sessions: usize,
    },
    /// An agent of a group was started.
    AgentStarted {
        /// Its group.
        group: GroupId,
        /// Its place in the group, counted from 0.
        place: u32,
        /// Which try of the place it is, counted from 0.
        attempt: u32,
    },
    /// An agent's processes are gone, and its session is closed.
    AgentEnded {
        /// Its group.
        group: GroupId,
        /// Its place in the group.
        place: u32,
        /// Which try of the place it was.
        attempt: u32,
        /// Why it has no result.
        failed: Option<Cause>,
    },
    /// Every session of a group has its first request there.
    GroupReady {
        /// The group.
        group: GroupId,
    },
    /// From now on a group samples for a step.
    GroupLeased {
        /// The group.
        group: GroupId,
        /// The step.
        step: u64,
    },
    /// No closing step aborts a group any more.
    GroupProtected {
        /// The group.
        group: GroupId,
    },
    /// Enough of a group's sessions succeeded, and none is left.
    GroupFinalised {
        /// The group.
        group: GroupId,
    },
    /// A session that ended well has its reward.
    SessionScored {
        /// The session.
        session: SessionId,
        /// Its group.
        group: GroupId,
        /// The reward, if it has one.
        reward: Option<f64>,
        /// How often it was asked for.
        attempts: u32,
    },
    /// A group has its rewards and advantages, and waits for its step.
    GroupScored {
        /// The group.
        group: GroupId,
    },
    /// A group's rows are published.
    GroupFinished {
        /// The group.
        group: GroupId,
        /// How many rows.
        rows: usize,
        /// The step that they belong to.
        step: u64,
        /// Whether the step is complete with them.
        is_last: bool,
    },
    /// A group yields no rows.
    GroupDropped {
        /// The group.
        group: GroupId,
        /// Why.
        cause: Cause,
    },
    /// A dataset was evaluated.
    Evaluated {
        /// The number of the evaluation.
        evaluation: u64,
        /// The dataset.
        dataset: String,
        /// Its sessions.
        sessions: usize,
        /// Those of them that failed.
        failed: usize,
        /// Those that passed.
        passed: usize,
    },
    /// An update of weights began: nothing is sampled until it ends.
    UpdateBegun {
        /// What becomes of attempts that run: `abort`, `retract` or `in_place`.
        mode: &'static str,
    },
    /// An update of weights ended.
    UpdateEnded {
        /// The name of the new weights.
        version: Version,
    },
    /// Engines were told that a session is over, so that its prefixes go first.
    PrefixesReleased {
        /// The session.
        session: SessionId,
        /// Engines that were told.
        engines: usize,
        /// Engines that could not be told.
        failed: usize,
    },
    /// A step takes groups.
    StepOpened {
        /// The step, counted from 1.
        step: u64,
    },
    /// A step has its groups, and nothing that it had to wait for runs.
    StepClosed {
        /// The step.
        step: u64,
    },
    /// The trainer says that it made a step of its optimizer.
    OptimizerStep(Box<OptimizerStep>),
}

/// What a trainer says of one step of its optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerStep {
    /// The rollout's step whose rows it took.
    pub step: u64,
    /// How many rows.
    pub rows: u64,
    /// The name of the weights that came of it.
    pub version: Version,
    /// The groups whose rows they were, where the trainer says it.
    pub groups: Vec<String>,
    /// Numbers that it wants to be kept: a loss, a norm.
    pub metrics: Map<String, Value>,
}

/// Someone who folds events. Called in the order of commits, on the committing thread: quick, and
/// never blocking.
pub trait Observer: Send + Sync {
    /// Takes one event.
    fn observe(&self, event: &Event);
}

/// All observers of a process.
#[derive(Clone, Default)]
pub struct Observers(Arc<[Arc<dyn Observer>]>);

impl Observers {
    /// These, in order.
    pub fn new(observers: impl IntoIterator<Item = Arc<dyn Observer>>) -> Self {
        Self(observers.into_iter().collect())
    }

    /// Tells every observer.
    pub fn tell(&self, event: &Event) {
        self.0.iter().for_each(|observer| observer.observe(event));
    }

    /// Tells that one thing of `session` was lost.
    pub fn lost(&self, session: &SessionId, cause: Cause) {
        self.tell(&Event::Lost { session: session.clone(), cause, count: 1 });
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Observers({})", self.0.len())
    }
}
