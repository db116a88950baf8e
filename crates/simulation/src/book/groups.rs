//! What becomes of Groups and their agents.

use verbatim_scheduler::{DropCause, GroupId, Mode, SessionId, Step, StopCause};

use super::{At, Book, Checked, Doing, Group, Place, ensure};

impl Book {
    pub(super) fn launch(&mut self, session: SessionId) -> Checked {
        let retries = self.rules.asked().retries;
        let group = self.groups.get_mut(&session.group).ok_or("an agent was launched for no Group")?;
        ensure(!group.stopped, || format!("{session:?} was launched for a Group that is dropped"))?;
        let place =
            group.places.get_mut(session.place as usize).ok_or("an agent was launched in no place")?;
        let next = if place.launched { place.attempt + 1 } else { 0 };
        ensure(!place.alive && !place.succeeded && session.attempt == next && next <= retries, || {
            format!("{session:?} was launched over {place:?}")
        })?;
        *place = Place { attempt: next, launched: true, alive: true, ..Place::default() };
        Ok(())
    }

    pub(super) fn stop(&mut self, session: SessionId, cause: StopCause) -> Checked {
        let budget = self.rules.asked().agent_time;
        let place =
            self.place(session).ok_or_else(|| format!("{session:?} was stopped and does not live"))?;
        ensure(!place.stopped, || format!("{session:?} was stopped twice"))?;
        place.stopped = true;
        let active = place.active;
        match cause {
            StopCause::Timeout => {
                ensure(active >= budget, || format!("{session:?} timed out after {active:?} of {budget:?}"))
            }
            StopCause::Dropped => {
                if let Some(group) = self.groups.get_mut(&session.group) {
                    group.stopped = true;
                }
                Ok(())
            }
        }
    }

    pub(super) fn ready(&mut self, id: GroupId) -> Checked {
        let group = self.groups.get(&id).ok_or("an unknown Group is ready")?;
        ensure(group.at == At::Warming, || format!("{id:?} is ready while {:?}", group.at))?;
        for (at, place) in group.places.iter().enumerate() {
            let session = SessionId { group: id, place: at as u32, attempt: place.attempt };
            let waits = self
                .turns
                .values()
                .any(|turn| turn.session == session && matches!(turn.doing, Doing::Held { .. }));
            ensure(place.launched && (!place.alive || waits), || {
                format!("{id:?} crossed its barrier and {session:?} has no request: {place:?}")
            })?;
        }
        if let Some(group) = self.groups.get_mut(&id) {
            group.at = At::Ready;
        }
        Ok(())
    }

    pub(super) fn lease(&mut self, id: GroupId, step: Step) -> Checked {
        let (trained, barrier) = (self.trained, self.rules.asked().barrier);
        let asked = self.rules.asked();
        let over = if self.is_final() { 0 } else { asked.over_sampling };
        let room = (asked.batch - self.accepted.len().min(asked.batch)) + over;
        let leased =
            self.groups.values().filter(|g| matches!(g.at, At::Leased { .. }) && !g.is_leaving()).count();
        let scoring = self.groups.values().filter(|g| matches!(g.at, At::Scoring { .. })).count();
        let there = leased + scoring + self.finalised.len();
        let current = if self.takes || !self.is_async() { self.step } else { Step(self.closed.0 + 1) };
        let (takes, is_async) = (self.takes, self.is_async());
        let group = self.groups.get_mut(&id).ok_or("an unknown Group was leased")?;
        ensure(step == current, || format!("{id:?} was leased for {step:?}, and the step is {current:?}"))?;
        ensure(takes || is_async, || format!("{id:?} was leased, and no step is open"))?;
        group.at = match group.at {
            At::Leased { trained, .. } => At::Leased { step, trained },
            At::Warming if barrier.is_some() => return Err(format!("{id:?} was leased before its barrier")),
            At::Warming | At::Ready => {
                ensure(is_async || there < room, || {
                    format!("{id:?} was leased, and its step has {there} of {room} Groups")
                })?;
                At::Leased { step, trained }
            }
            At::Scoring { .. } | At::Finalised { .. } => {
                return Err(format!("{id:?} was leased after its end"));
            }
        };
        Ok(())
    }

    /// Nothing of a Group lives or runs.
    pub(super) fn is_gone(&self, id: GroupId, group: &Group) -> Checked {
        ensure(!group.places.iter().any(|place| place.alive), || format!("{id:?} ended and an agent lives"))?;
        let runs = self.running(|turn| turn.session.group == id);
        ensure(runs == 0, || format!("{id:?} ended and {runs} attempts run"))
    }

    pub(super) fn score(&mut self, id: GroupId) -> Checked {
        let group = self.groups.get(&id).ok_or("an unknown Group is to be scored")?;
        self.is_gone(id, group)?;
        let succeeded = group.places.iter().filter(|place| place.succeeded).count();
        ensure(succeeded >= self.rules.asked().needed, || {
            format!("{id:?} is to be scored with {succeeded} sessions")
        })?;
        let At::Leased { trained, .. } = group.at else {
            return Err(format!("{id:?} is to be scored while {:?}", group.at));
        };
        ensure(!group.stopped, || format!("{id:?} is to be scored and was dropped"))?;
        if let Some(group) = self.groups.get_mut(&id) {
            group.at = At::Scoring { trained, scored: false };
        }
        Ok(())
    }

    pub(super) fn finalise(&mut self, id: GroupId) -> Checked {
        let group = self.groups.get(&id).ok_or("an unknown Group finished")?;
        let At::Scoring { trained, scored: true } = group.at else {
            return Err(format!("{id:?} finished while {:?}", group.at));
        };
        if let Some(group) = self.groups.get_mut(&id) {
            group.at = At::Finalised { trained };
        }
        self.finalised.push(id);
        self.failures = 0;
        Ok(())
    }

    pub(super) fn dropped(&mut self, id: GroupId, cause: DropCause) -> Checked {
        let group = self.groups.remove(&id).ok_or_else(|| format!("{id:?} was dropped and is not there"))?;
        self.over.insert(id);
        self.finalised.retain(|other| *other != id);
        self.is_gone(id, &group)?;
        let late = || {
            let barrier = self.rules.asked().barrier?;
            Some(group.seated? + barrier <= self.time)
        };
        let true_cause = match cause {
            DropCause::Surplus => self.rules.mode() == Mode::Sync || self.is_final(),
            DropCause::Interrupted => self.interrupted,
            DropCause::Barrier => late() == Some(true),
            DropCause::Failed => {
                let succeeded = group.places.iter().filter(|place| place.succeeded).count();
                succeeded < self.rules.asked().needed
            }
            DropCause::Unwanted(why) => self.unwanted.contains(&(id, why)),
        };
        self.failures += u32::from(cause.is_failure());
        ensure(true_cause, || format!("{id:?} was dropped for {cause:?}: {group:?}"))
    }
}
