//! The barrier.
//!
//! The invariant: a Group waits at it until every session has its first request there, and no longer than it may;
//! one that lost a session while it waited for its lease waits there again.

use std::collections::HashSet;
use std::time::Instant;

use super::Resident;
use crate::group::Preparing;
use crate::team::Team;
use crate::{Action, GroupId, SessionId};

impl Resident {
    pub(super) fn deadline(&self, group: &Preparing) -> Option<Instant> {
        group.seated?.checked_add(self.rules.asked().barrier?)
    }

    pub(super) fn cross(&mut self, waiting: &HashSet<SessionId>, out: &mut Vec<Action>) {
        let crossed = self.preparing.iter().filter(|(_, group)| group.has_crossed(waiting));
        for group in crossed.map(|(group, _)| *group).collect::<Vec<_>>() {
            if let Some(preparing) = self.preparing.remove(&group) {
                out.push(Action::Ready(group));
                self.ready.push_back((group, preparing.cross()));
            }
        }
    }

    /// A Group that waits for its lease and lost a session goes back to its barrier.
    pub(super) fn unready(&mut self, group: GroupId) {
        if let Some(at) = self.ready.iter().position(|(ready, _)| *ready == group)
            && let Some((_, ready)) = self.ready.remove(at)
        {
            self.preparing.insert(group, Preparing::new(ready.team));
        }
    }

    pub(super) fn warming_mut(&mut self, group: GroupId) -> Option<&mut Team> {
        let ready =
            self.ready.iter_mut().find(|(ready, _)| *ready == group).map(|(_, ready)| &mut ready.team);
        ready.or_else(|| self.preparing.get_mut(&group).map(|preparing| &mut preparing.team))
    }
}
