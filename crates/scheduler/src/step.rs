//! The trainer's steps.
//!
//! The invariant: what a step still needs is its size less the Groups that it holds, and is stored nowhere.

use crate::Step;

/// Where the trainer's steps are.
#[derive(Debug)]
pub(crate) enum Steps {
    /// None is open; this many are behind.
    Shut { closed: Step },
    /// Groups are accepted.
    Open(OpenStep),
    /// It is complete; attempts that it aborted and Groups that it protects have not ended.
    Draining(Step),
}

/// A step that accepts Groups.
#[derive(Debug)]
pub(crate) struct OpenStep {
    pub(crate) step: Step,
    size: usize,
    accepted: usize,
}

/// Where a rollout stands, for one that goes on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// The last step that closed.
    pub closed: Step,
    /// The step after it, if that was open.
    pub open: Option<Opened>,
    /// The step up to which weights have been trained.
    pub trained: Step,
}

/// A step that was open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The Groups that it is to have.
    pub size: usize,
    /// Those that it has; no more than its size.
    pub accepted: usize,
}

impl OpenStep {
    /// The Groups that it still needs.
    pub(crate) fn debt(&self) -> usize {
        self.size - self.accepted
    }

    /// Takes a Group; the step must need one.
    pub(crate) fn accept(&mut self) {
        debug_assert!(self.debt() > 0, "a complete step needs no Group");
        self.accepted += 1;
    }
}

impl Steps {
    /// Goes on where an earlier rollout stood.
    pub(crate) fn resume(stand: Stand) -> Self {
        let step = Step(stand.closed.0 + 1);
        match stand.open {
            Some(Opened { size, accepted }) => {
                Self::Open(OpenStep { step, size, accepted: accepted.min(size) })
            }
            None => Self::Shut { closed: stand.closed },
        }
    }

    /// Opens the next step, if none is open or draining.
    pub(crate) fn open(&mut self, size: usize) -> Option<Step> {
        let Self::Shut { closed } = self else { return None };
        let step = Step(closed.0 + 1);
        *self = Self::Open(OpenStep { step, size, accepted: 0 });
        Some(step)
    }

    /// The step that is open, else the next one.
    pub(crate) fn current(&self) -> Step {
        match self {
            Self::Shut { closed } | Self::Draining(closed) => Step(closed.0 + 1),
            Self::Open(open) => open.step,
        }
    }

    /// The Groups that the open step still needs; none if none is open.
    pub(crate) fn debt(&self) -> usize {
        match self {
            Self::Open(open) => open.debt(),
            _ => 0,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}
