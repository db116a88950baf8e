//! What a step takes, and when it opens and closes.

use verbatim_scheduler::{GroupId, Mode, Step};

use super::{At, Book, Checked, Group, ensure};

impl Book {
    pub(super) fn accept(&mut self, id: GroupId, step: Step, is_last: bool) -> Checked {
        let batch = self.rules.asked().batch;
        let group = self.groups.remove(&id).ok_or_else(|| format!("{id:?} was accepted and is not there"))?;
        let At::Finalised { trained } = group.at else {
            return Err(format!("{id:?} was accepted while {:?}", group.at));
        };
        self.over.insert(id);
        ensure(self.takes && step == self.step, || format!("{id:?} was accepted into {step:?}"))?;
        ensure(self.accepted.len() < batch && !self.was_last, || {
            format!("{id:?} was accepted into a full step")
        })?;
        ensure(self.is_async() || self.finalised.first() == Some(&id), || {
            format!("{id:?} was accepted before {:?}", self.finalised.first())
        })?;
        self.finalised.retain(|other| *other != id);
        self.accepted.push(id);
        self.lag = (step.0 - 1).saturating_sub(trained.0);
        if let Mode::Async { staleness } = self.rules.mode() {
            ensure(self.lag <= staleness, || format!("{id:?} is {} steps stale in {step:?}", self.lag))?;
        }
        let full = self.accepted.len() == batch;
        ensure(is_last == full, || format!("{id:?} is told as the last of {step:?}: {is_last}"))?;
        (self.was_last, self.takes) = (is_last, !is_last);
        Ok(())
    }

    pub(super) fn step_opened(&mut self, step: Step) -> Checked {
        let runs = self.running(|_| true);
        ensure(self.is_async() || runs == 0, || {
            format!("{step:?} opened with {runs} attempts of the step before")
        })?;
        ensure(!self.takes && step.0 == self.closed.0 + 1, || {
            format!("{step:?} opened after {:?}", self.closed)
        })?;
        (self.step, self.takes, self.was_last) = (step, true, false);
        self.accepted.clear();
        Ok(())
    }

    pub(super) fn step_closed(&mut self, step: Step) -> Checked {
        ensure(step == self.step && self.closed < step, || format!("{step:?} closed in {:?}", self.step))?;
        self.closed = step;
        self.takes = false;
        let left = self.groups.values().filter(|g| !g.is_leaving()).count();
        let full = self.accepted.len() == self.rules.asked().batch;
        ensure(full || self.dry && left == 0, || {
            format!("{step:?} closed short with {left} Groups to come")
        })?;
        if self.is_async() {
            return Ok(());
        }
        let runs = self.running(|_| true);
        ensure(runs == 0, || format!("{step:?} closed and {runs} attempts run"))?;
        let goes_on = |g: &Group| g.places.iter().any(|place| place.alive && !place.stopped);
        let is_kept = |g: &Group| match g.at {
            At::Leased { .. } => goes_on(g),
            At::Scoring { .. } | At::Finalised { .. } => true,
            At::Warming | At::Ready => false,
        };
        let kept = self.groups.iter().find(|(_, g)| is_kept(g));
        ensure(self.rules.mode() != Mode::Sync || kept.is_none(), || {
            format!("{step:?} is over, and keeps {:?}", kept.map(|(id, _)| id))
        })?;
        let protected = self
            .groups
            .iter()
            .find(|(_, g)| g.protected && !g.is_leaving() && matches!(g.at, At::Leased { .. }));
        ensure(protected.is_none(), || {
            format!("{step:?} closed before protected {:?}", protected.map(|(id, _)| id))
        })
    }
}
