//! What must hold between steps of the scheduler.

use std::time::Duration;

use verbatim_scheduler::{Budget, Cost, Mode, Scheduler};

use super::{At, Book, Checked, Doing, Group, Place, Turn, ensure};

impl Book {
    /// What must hold between steps of the scheduler.
    pub(crate) fn after(&mut self, scheduler: &Scheduler) -> Checked {
        for group in self.groups.values_mut() {
            if group.seated.is_none() && group.places.iter().all(|place| place.launched) {
                group.seated = Some(self.time);
            }
        }
        // A step that can get no more Groups takes none, though it may have to wait for attempts.
        self.takes &= !(self.dry && self.groups.values().all(|group| group.is_leaving()));
        let asked = self.rules.asked();
        let running = self.running(|_| true);
        let waiting = self.turns.len() - running;
        ensure(running == scheduler.running() && waiting == scheduler.waiting(), || {
            format!("{running} attempts run and {waiting} wait; told {scheduler:?}")
        })?;
        ensure(running <= self.permits, || format!("{running} attempts run with {} permits", self.permits))?;
        let fits = self.budget.is_none_or(|budget| running <= 1 || self.used() <= budget.tokens);
        ensure(fits, || format!("{running} attempts hold {} tokens of {:?}", self.used(), self.budget))?;
        let debt = if self.takes { asked.batch - self.accepted.len() } else { 0 };
        ensure(debt == scheduler.debt(), || format!("the debt is {debt}, not {}", scheduler.debt()))?;
        let living = self.groups.values().flat_map(|g| &g.places).filter(|place| place.alive).count();
        ensure(living <= asked.agents, || format!("{living} agents live"))?;
        let lives = |g: &&Group| !matches!(g.at, At::Scoring { .. } | At::Finalised { .. });
        let resident = self.groups.values().filter(lives).count();
        ensure(resident <= asked.resident && resident == scheduler.groups(), || {
            format!("{resident} Groups are there, not {}", scheduler.groups())
        })?;
        let over = self.is_final() && !self.takes;
        let vain = asked.give_up.is_some_and(|most| self.failures >= most.get()) && !self.dry && !over;
        ensure(!vain, || format!("{} Groups failed in a row, and others begin", self.failures))?;
        self.nothing_waits_in_vain(running)?;
        self.nothing_is_late()?;
        self.nothing_is_scored_in_vain()?;
        self.nothing_runs_on()?;
        let over = if self.is_final() { 0 } else { asked.over_sampling };
        let under_way = self.groups.values().filter(|g| !g.is_leaving()).count();
        let short = self.takes && !self.dry && !self.is_async() && under_way < debt + over;
        ensure(!short || resident == asked.resident, || {
            format!("{under_way} Groups are under way for {debt}")
        })?;
        match self.groups.values().flat_map(|g| &g.places).find(|place| {
            matches!(self.rules.mode(), Mode::Partial { max_aborted_count: Some(most) } if !place.stopped && place.aborts > most)
        }) {
            Some(place) => Err(format!("a session was aborted too often: {place:?}")),
            None => Ok(()),
        }
    }

    pub(super) fn nothing_waits_in_vain(&self, running: usize) -> Checked {
        if !self.open || running == self.permits {
            return Ok(());
        }
        let waited = |turn: &Turn, least: Duration| {
            matches!(turn.doing, Doing::Held { .. }) && self.time.saturating_sub(turn.since) >= least
        };
        // One that has let others pass for long enough holds back those that would fit.
        let barred = |budget: Budget| self.turns.values().any(|turn| waited(turn, budget.patience));
        let has_room = |cost: Cost| {
            self.budget
                .is_none_or(|budget| running == 0 || self.used() + cost.0 <= budget.tokens && !barred(budget))
        };
        let vain = self.turns.iter().find(|(_, turn)| {
            let place = |g: &Group| g.places.get(turn.session.place as usize).cloned().unwrap_or_default();
            turn.doing == (Doing::Held { paused: false })
                && has_room(turn.cost)
                && self.groups.get(&turn.session.group).is_some_and(|group| {
                    let place = place(group);
                    self.samples(group)
                        && place.alive
                        && !place.stopped
                        && place.attempt == turn.session.attempt
                })
        });
        ensure(vain.is_none(), || format!("a permit is free and {vain:?} waits"))
    }

    /// A complete step has aborted what it does not protect.
    pub(super) fn nothing_runs_on(&self) -> Checked {
        let on = self.turns.iter().find(|(_, turn)| {
            let group = self.groups.get(&turn.session.group);
            turn.doing == Doing::Running && group.is_none_or(|group| !group.protected)
        });
        let closed = !self.takes && !self.is_async();
        ensure(!closed || on.is_none(), || format!("{:?} is complete and {on:?} runs on", self.step))
    }

    pub(super) fn nothing_is_late(&self) -> Checked {
        let asked = self.rules.asked();
        for (id, group) in &self.groups {
            if let (Some(seated), Some(barrier), At::Warming) = (group.seated, asked.barrier, group.at) {
                ensure(group.is_leaving() || self.time < seated + barrier, || {
                    format!("{id:?} is late at its barrier")
                })?;
            }
            let samples = self.open && self.samples(group);
            let late = |place: &&Place| place.alive && !place.stopped && place.active >= asked.agent_time;
            let late = group.places.iter().find(late);
            ensure(!samples || late.is_none(), || format!("an agent of {id:?} has no time left: {late:?}"))?;
        }
        Ok(())
    }

    /// What was scored has finished, and what was dropped is not scored.
    fn nothing_is_scored_in_vain(&self) -> Checked {
        let vain = self.groups.iter().find(|(_, group)| match group.at {
            At::Scoring { scored, .. } => scored || group.stopped,
            _ => false,
        });
        ensure(vain.is_none(), || format!("{vain:?} is still being scored"))
    }

    /// Nothing may be left at the end.
    pub(crate) fn end(&self) -> Checked {
        ensure(self.groups.is_empty() && self.turns.is_empty(), || {
            format!("left behind: {:?} {:?}", self.groups, self.turns)
        })
    }
}
