//! A Group's states, each a type.
//!
//! The invariants, by construction: a Group is in one state, because it is moved from one to the next; a
//! [`Leased`] one is made of a [`Ready`] one only, and that of a [`Preparing`] one whose barrier was
//! crossed; a [`Scoring`] one is made of a settled one, a [`Finalised`] one of one that was scored, and that is
//! accepted or dropped by being consumed.

use std::collections::HashSet;
use std::time::Instant;

use crate::team::Team;
use crate::{GroupId, SessionId, Step};

/// Why a Group yields nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropCause {
    /// Its first requests were not all there in time.
    Barrier,
    /// Too few of its sessions can succeed.
    Failed,
    /// Its step was complete without it.
    Surplus,
    /// The shell did not want its result, or could not have it.
    Unwanted(Unwanted),
    /// The rollout was interrupted.
    Interrupted,
}

impl DropCause {
    /// Whether it says that something is broken, and not that the Group was not needed.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Barrier | Self::Failed | Self::Unwanted(Unwanted::NotScored))
    }
}

/// Why the shell does without a Group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unwanted {
    /// Somebody said so, or its sink refused it.
    Discarded,
    /// It teaches nothing: a filter's or an advantage function's decision.
    Filtered,
    /// Its rewards or advantages could not be had.
    NotScored,
}

/// Its agents start; their first requests are held.
#[derive(Debug)]
pub(crate) struct Preparing {
    pub(crate) team: Team,
    /// Since when every place has been taken.
    pub(crate) seated: Option<Instant>,
}

/// All first requests are there. It holds no attempt and has no deadline.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) team: Team,
}

/// It may sample.
#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) team: Team,
    /// For which step.
    pub(crate) step: Step,
    /// The step that the weights had been trained up to when it was leased.
    pub(crate) trained: Step,
    /// No closing step aborts it.
    pub(crate) protected: bool,
}

/// All its sessions have exited, and enough succeeded. Nothing of it lives, so that it has no team.
#[derive(Debug)]
pub(crate) struct Scoring {
    pub(crate) trained: Step,
}

/// It was scored.
#[derive(Debug)]
pub(crate) struct Finalised {
    pub(crate) group: GroupId,
    pub(crate) trained: Step,
}

/// It was dropped, and some of its sessions have not exited.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) team: Team,
    pub(crate) cause: DropCause,
}

impl Preparing {
    pub(crate) fn new(team: Team) -> Self {
        Self { team, seated: None }
    }

    /// Whether every session that still lives is among those that wait with a request.
    pub(crate) fn has_crossed(&self, waiting: &HashSet<SessionId>) -> bool {
        self.team.is_seated()
            && !self.team.is_settled()
            && self
                .team
                .sessions()
                .all(|session| self.team.takes_turns(session) && waiting.contains(&session))
    }

    pub(crate) fn cross(self) -> Ready {
        Ready { team: self.team }
    }
}

impl Ready {
    /// A Group that has no barrier to cross.
    pub(crate) fn unguarded(team: Team) -> Self {
        Self { team }
    }

    pub(crate) fn lease(self, step: Step, trained: Step) -> Leased {
        Leased { team: self.team, step, trained, protected: false }
    }
}

impl Leased {
    pub(crate) fn settle(self) -> Scoring {
        Scoring { trained: self.trained }
    }
}

impl Scoring {
    pub(crate) fn finalise(self, group: GroupId) -> Finalised {
        Finalised { group, trained: self.trained }
    }
}
