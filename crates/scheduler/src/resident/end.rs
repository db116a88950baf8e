//! How Groups end.
//!
//! The invariants: a Group is scored only once all its sessions have exited and enough succeeded, and finishes only
//! once it was scored; a drop is told once, after the last exit; a rollout all of whose Groups fail ends.

use std::time::Instant;

use super::Resident;
use crate::group::{DropCause, Leaving};
use crate::{Action, GroupId};

impl Resident {
    pub(crate) fn discard(&mut self, group: GroupId, cause: DropCause, out: &mut Vec<Action>) {
        let ready = self.ready.iter().position(|(ready, _)| *ready == group);
        let team = if let Some(preparing) = self.preparing.remove(&group) {
            preparing.team
        } else if let Some((_, ready)) = ready.and_then(|at| self.ready.remove(at)) {
            ready.team
        } else if let Some(leased) = self.leased.remove(&group) {
            leased.team
        } else {
            if self.scoring.remove(&group).is_some() {
                self.dropped(group, cause, out);
            }
            if let Some(at) = self.finalised.iter().position(|finalised| finalised.group == group) {
                self.finalised.remove(at);
                self.dropped(group, cause, out);
            }
            return;
        };
        let mut leaving = Leaving { team, cause };
        leaving.team.stop(out);
        self.leaving.insert(group, leaving);
    }

    /// Drops Groups that were too long at their barrier, and ends sessions that used up their time.
    pub(super) fn expire(&mut self, now: Instant, out: &mut Vec<Action>) {
        let budget = self.rules.asked().agent_time;
        self.leased.values_mut().for_each(|leased| leased.team.time_out(budget, now, out));
        let late =
            self.preparing.iter().filter(|(_, group)| self.deadline(group).is_some_and(|end| end <= now));
        for group in late.map(|(group, _)| *group).collect::<Vec<_>>() {
            self.discard(group, DropCause::Barrier, out);
        }
    }

    /// The Group's rewards and advantages are there.
    pub(crate) fn scored(&mut self, group: GroupId, out: &mut Vec<Action>) {
        if let Some(scoring) = self.scoring.remove(&group) {
            self.failures = 0;
            out.push(Action::Finalise(group));
            self.finalised.push_back(scoring.finalise(group));
        }
    }

    /// Drops Groups that cannot succeed, has those scored that did, and lets go of those that have left.
    pub(super) fn settle(&mut self, out: &mut Vec<Action>) {
        let needed = self.rules.asked().needed;
        let warming = self.preparing.iter().map(|(group, warm)| (*group, &warm.team));
        let all = warming.chain(self.leased.iter().map(|(group, leased)| (*group, &leased.team)));
        let lost =
            all.filter(|(_, team)| !team.can_reach(needed)).map(|(group, _)| group).collect::<Vec<_>>();
        for group in lost {
            self.discard(group, DropCause::Failed, out);
        }
        let done: Vec<_> = self
            .leased
            .iter()
            .filter(|(_, leased)| leased.team.is_settled())
            .map(|(group, _)| *group)
            .collect();
        for group in done {
            if let Some(leased) = self.leased.remove(&group) {
                out.push(Action::Score(group));
                self.scoring.insert(group, leased.settle());
            }
        }
        self.release(out);
    }

    /// Tells a drop.
    fn dropped(&mut self, group: GroupId, cause: DropCause, out: &mut Vec<Action>) {
        self.failures += u32::from(cause.is_failure());
        out.push(Action::Dropped(group, cause));
    }

    /// Ends a rollout in which too many Groups failed, one after the other.
    pub(super) fn give_up(&mut self, out: &mut Vec<Action>) {
        let most = self.rules.asked().give_up;
        if most.is_some_and(|most| self.failures >= most.get()) && !self.dry && !self.is_over() {
            out.push(Action::GaveUp(self.failures));
            self.interrupt(out);
        }
    }

    /// Tells the end of dropped Groups whose sessions have all exited.
    pub(super) fn release(&mut self, out: &mut Vec<Action>) {
        let gone: Vec<_> = self.leaving.extract_if(.., |_, leaving| leaving.team.is_settled()).collect();
        for (group, leaving) in gone {
            self.dropped(group, leaving.cause, out);
        }
    }
}
