//! What begins, is leased and gets agents.
//!
//! The invariants: a Group begins only if there is room for it, and is leased only if its step needs it; Groups that
//! are being scored take up no room, and no step is filled up for them; no more agents live than may.

use std::time::Instant;

use super::Resident;
use crate::ahead::Room;
use crate::group::{Preparing, Ready};
use crate::step::Steps;
use crate::team::Team;
use crate::{Action, GroupId, Mode, Step};

impl Resident {
    /// Begins as many Groups as are wanted and have room.
    pub(super) fn begin(&mut self, out: &mut Vec<Action>) {
        if self.dry || !self.started || self.is_over() {
            return;
        }
        let asked = self.rules.asked();
        let warming = self.preparing.len() + self.ready.len();
        let free = asked.resident.saturating_sub(warming + self.leased.len() + self.leaving.len());
        let prelaunch = asked.prelaunch && !self.rules.is_final(self.steps.current());
        let wanted = if prelaunch { free } else { self.gap().saturating_sub(warming).min(free) };
        for _ in 0..wanted {
            let group = self.next;
            self.next = GroupId(group.0 + 1);
            out.push(Action::Begin(group));
            let team = Team::new(group, asked.group_size);
            match asked.barrier {
                Some(_) => {
                    self.preparing.insert(group, Preparing::new(team));
                }
                None => self.ready.push_back((group, Ready::unguarded(team))),
            }
        }
    }

    /// Leases ready Groups up to what is wanted.
    pub(super) fn lease(&mut self, out: &mut Vec<Action>) {
        for _ in 0..self.gap() {
            let Some((group, ready)) = self.ready.pop_front() else { return };
            let step = self.steps.current();
            out.push(Action::Lease(group, step));
            self.leased.insert(group, ready.lease(step, self.trained));
        }
    }

    /// Starts agents as others exit, those of the oldest Group first: what has begun gets whole before
    /// another takes its agents.
    pub(super) fn launch(&mut self, now: Instant, out: &mut Vec<Action>) {
        let teams = self.preparing.values().map(|group| &group.team);
        let teams = teams.chain(self.ready.iter().map(|(_, group)| &group.team));
        let teams = teams.chain(self.leased.values().map(|group| &group.team));
        let living: usize =
            teams.chain(self.leaving.values().map(|group| &group.team)).map(Team::living).sum();
        let mut free = self.rules.asked().agents.saturating_sub(living);
        let preparing = self.preparing.iter_mut().map(|(group, warm)| (*group, &mut warm.team));
        let leased = self.leased.iter_mut().map(|(group, leased)| (*group, &mut leased.team));
        let mut teams: Vec<_> = preparing.chain(leased).collect();
        teams.sort_by_key(|(group, _)| *group);
        for (_, team) in teams {
            let before = out.len();
            team.launch(free, out);
            free -= out.len() - before;
        }
        for group in self.preparing.values_mut() {
            if group.seated.is_none() && group.team.is_seated() {
                group.seated = Some(now);
            }
        }
    }

    /// Groups that may be leased beyond those that are.
    pub(super) fn gap(&self) -> usize {
        let there = self.leased.len() + self.scoring.len() + self.finalised.len();
        if let Some(room) = self.room() {
            if !self.started {
                return 0;
            }
            let due = room.due(self.trained);
            let last = self.rules.asked().steps.map_or(due, |steps| due.min(Step(steps)));
            return room.until(last).saturating_sub(there);
        }
        let Steps::Open(open) = &self.steps else { return 0 };
        let over = if self.rules.is_final(open.step) { 0 } else { self.rules.asked().over_sampling };
        (open.debt() + over).saturating_sub(there)
    }

    /// The room of the steps to come, where rollout may run ahead.
    pub(super) fn room(&self) -> Option<Room> {
        let Mode::Async { staleness } = self.rules.mode() else { return None };
        let batch = self.rules.asked().batch;
        let debt = if self.steps.is_open() { self.steps.debt() } else { batch };
        Some(Room { current: self.steps.current(), debt, batch, staleness })
    }

    /// What the weights had been trained up to for every Group that may be accepted, finished ones first.
    pub(super) fn unaccepted(&self) -> impl Iterator<Item = Step> {
        let finalised = self.finalised.iter().map(|group| group.trained);
        let scoring = self.scoring.values().map(|group| group.trained);
        finalised.chain(scoring).chain(self.leased.values().map(|group| group.trained))
    }
}
