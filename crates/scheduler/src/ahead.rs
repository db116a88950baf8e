//! How far rollout may run ahead of the trainer.
//!
//! The invariant: with staleness `s`, a Group that was leased when the weights had been trained up to step
//! `v` is accepted into step `v + 1 + s` at the latest. It is kept by leasing no more Groups than the steps
//! up to there have room for, and by leaving the room that older Groups will need: the step waits for what
//! would become too old, and nothing is dropped for its age.

use crate::Step;

/// The room of the steps to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The step that accepts, or the next one.
    pub(crate) current: Step,
    /// The Groups it still needs.
    pub(crate) debt: usize,
    /// The Groups of each later step.
    pub(crate) batch: usize,
    /// How far ahead rollout may run.
    pub(crate) staleness: u64,
}

impl Room {
    /// The last step that a Group may be accepted into.
    pub(crate) fn due(&self, trained: Step) -> Step {
        Step(trained.0.saturating_add(1).saturating_add(self.staleness))
    }

    /// Groups that the steps up to and with `step` still need.
    pub(crate) fn until(&self, step: Step) -> usize {
        match step.0.checked_sub(self.current.0) {
            None => 0,
            Some(later) => {
                let later = usize::try_from(later).unwrap_or(usize::MAX);
                self.debt.saturating_add(later.saturating_mul(self.batch))
            }
        }
    }

    /// Whether the present step may take a Group that is due at `due`, and leave those of `others` (what
    /// they are due at; the Group is not among them) the room that they need.
    pub(crate) fn fits(&self, due: Step, others: &[Step]) -> bool {
        let earlier = others.iter().filter(|other| **other < due);
        earlier.clone().all(|deadline| {
            let count = others.iter().filter(|other| *other <= deadline).count();
            count < self.until(*deadline)
        })
    }
}
