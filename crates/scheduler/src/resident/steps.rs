//! What a step takes, and when it closes.
//!
//! The invariants: a step takes as many Groups as it needs, in the order in which they finished, and none that would
//! make another too stale; it closes once, with nothing left running that it aborted.

use std::num::NonZeroUsize;

use super::Resident;
use crate::group::{DropCause, Finalised};
use crate::step::Steps;
use crate::{Action, Mode};

impl Resident {
    /// Opens the next step and stamps the Groups that go on in it; those that were aborted as often as they
    /// may be are protected in it.
    pub(crate) fn open(&mut self, groups: Option<NonZeroUsize>, out: &mut Vec<Action>) {
        if self.is_over() {
            return;
        }
        let batch = self.rules.asked().batch;
        let size = match self.rules.mode() {
            Mode::Async { .. } => batch,
            Mode::Sync | Mode::Partial { .. } => groups.map_or(batch, NonZeroUsize::get),
        };
        let Some(step) = self.steps.open(size) else { return };
        self.started = true;
        out.push(Action::StepOpened { step, size });
        for (group, leased) in &mut self.leased {
            leased.step = step;
            out.push(Action::Lease(*group, step));
            if let Mode::Partial { max_aborted_count: Some(most) } = self.rules.mode()
                && leased.team.aborted() >= most
                && !leased.protected
            {
                leased.protected = true;
                out.push(Action::Protect(*group));
            }
        }
    }

    /// Gives finished Groups to the open step.
    pub(super) fn accept(&mut self, out: &mut Vec<Action>) {
        while let Some(at) = self.acceptable() {
            let Steps::Open(open) = &mut self.steps else { return };
            let Some(Finalised { group, .. }) = self.finalised.remove(at) else { return };
            open.accept();
            out.push(Action::Accept { group, step: open.step, is_last: open.debt() == 0 });
        }
    }

    /// Which finished Group the open step takes next, if it takes one now.
    pub(super) fn acceptable(&self) -> Option<usize> {
        if self.steps.debt() == 0 {
            return None;
        }
        let Some(room) = self.room() else { return (!self.finalised.is_empty()).then_some(0) };
        let dues: Vec<_> = self.unaccepted().map(|trained| room.due(trained)).collect();
        (0..self.finalised.len()).find(|at| {
            let mut others = dues.clone();
            let due = others.remove(*at);
            room.fits(due, &others)
        })
    }

    /// Closes the step if it has what it needs, or nothing more can come.
    pub(super) fn close(&mut self, out: &mut Vec<Action>) -> bool {
        let Steps::Open(open) = &self.steps else { return false };
        let over = self.dry && self.is_drained() && self.finalised.is_empty();
        if open.debt() > 0 && !over {
            return false;
        }
        let step = open.step;
        let is_final = self.rules.is_final(step);
        let dropped: Vec<_> = match self.rules.mode() {
            _ if is_final => self.unfinished(),
            Mode::Sync => self.leased.keys().chain(self.scoring.keys()).copied().collect(),
            Mode::Partial { .. } | Mode::Async { .. } => Vec::new(),
        };
        if is_final || self.rules.mode() == Mode::Sync {
            let finished = self.finalised.drain(..);
            out.extend(finished.map(|surplus| Action::Dropped(surplus.group, DropCause::Surplus)));
        }
        for group in dropped {
            self.discard(group, DropCause::Surplus, out);
        }
        if matches!(self.rules.mode(), Mode::Async { .. }) {
            self.steps = Steps::Shut { closed: step };
            out.push(Action::StepClosed(step));
            return false;
        }
        self.steps = Steps::Draining(step);
        true
    }

    /// Tells that the step has closed, once `running` attempts of Groups and what it waits for are over.
    pub(crate) fn drain(&mut self, running: usize, out: &mut Vec<Action>) {
        if let Steps::Draining(step) = self.steps
            && running == 0
            && !self.leased.values().any(|leased| leased.protected)
        {
            self.steps = Steps::Shut { closed: step };
            out.push(Action::StepClosed(step));
        }
    }
}
