//! What is asked of the Groups.
//!
//! The invariant: everything here is computed from the Groups that are there.

use std::time::Instant;

use super::Resident;
use crate::step::Steps;
use crate::{GroupId, Mode, SessionId};

impl Resident {
    /// Starts and stops the agents' time.
    pub(crate) fn meter(&mut self, open: bool, now: Instant) {
        let gate = open && self.samples();
        for leased in self.leased.values_mut() {
            leased.team.meter(gate || open && leased.protected, now);
        }
    }

    // What is asked of it.

    /// Whether the step's gate lets Groups sample that are not protected.
    pub(crate) fn samples(&self) -> bool {
        self.steps.is_open() || matches!(self.rules.mode(), Mode::Async { .. })
    }

    /// Whether a turn of the session may run, the outer gate being open.
    pub(crate) fn may_run(&self, session: SessionId) -> bool {
        self.leased
            .get(&session.group)
            .is_some_and(|leased| (leased.protected || self.samples()) && leased.team.takes_turns(session))
    }

    /// Whether a closing step leaves the session alone.
    pub(crate) fn is_protected(&self, session: SessionId) -> bool {
        self.leased.get(&session.group).is_some_and(|leased| leased.protected)
    }

    pub(super) fn unfinished(&self) -> Vec<GroupId> {
        let ready = self.ready.iter().map(|(group, _)| group);
        self.preparing
            .keys()
            .chain(ready)
            .chain(self.leased.keys())
            .chain(self.scoring.keys())
            .copied()
            .collect()
    }

    /// Whether no Group is left that could finish.
    pub(super) fn is_drained(&self) -> bool {
        self.preparing.is_empty()
            && self.ready.is_empty()
            && self.leased.is_empty()
            && self.scoring.is_empty()
    }

    /// Whether the last step is behind, or nothing can come for another.
    pub(crate) fn is_over(&self) -> bool {
        match self.steps {
            Steps::Shut { closed } => {
                self.rules.asked().steps.is_some_and(|steps| closed.0 >= steps)
                    || self.dry && self.is_drained() && self.finalised.is_empty()
            }
            _ => false,
        }
    }

    /// The Groups that the open step still needs.
    pub(crate) fn debt(&self) -> usize {
        self.steps.debt()
    }

    /// Whether a Group waits at its barrier.
    pub(crate) fn is_warming(&self) -> bool {
        !self.preparing.is_empty()
    }

    /// Groups of which something lives or may. Scoring takes up no room.
    pub(crate) fn resident(&self) -> usize {
        self.preparing.len() + self.ready.len() + self.leased.len() + self.leaving.len()
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let budget = self.rules.asked().agent_time;
        let barriers = self.preparing.values().filter_map(|group| self.deadline(group));
        barriers.chain(self.leased.values().filter_map(|leased| leased.team.wake_at(budget))).min()
    }
}
