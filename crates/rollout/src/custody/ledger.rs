//! Where a rollout stands.
//!
//! The invariant: a task is done with once its group's rows were frozen or its group was dropped for good; every task
//! before [`Ledger::low`] is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use verbatim_scheduler::{Opened, Stand, Step};

/// How many steps are remembered.
const STEPS: usize = 256;

/// What is written of a rollout, whole, whenever it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// Tasks of the dataset: another one's positions mean something else.
    pub(crate) tasks: usize,
    /// What its order is drawn from.
    pub(crate) shuffle: Option<u64>,
    /// Tasks before this one, in the order in which they are taken, are done with.
    pub(crate) low: u64,
    /// Later ones that are done with, too.
    pub(crate) done: BTreeSet<u64>,
    /// Groups that were accepted: the number of the next one.
    pub(crate) accepted: u64,
    /// The step up to which weights have been trained.
    pub(crate) trained: u64,
    /// The latest steps.
    pub(crate) steps: BTreeMap<u64, Line>,
}

/// A step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Groups that it was to have.
    pub(crate) size: usize,
    /// Groups whose rows were frozen.
    pub(crate) groups: usize,
    /// Their rows.
    pub(crate) rows: usize,
    /// Whether it takes no more.
    pub(crate) closed: bool,
}

impl Ledger {
    pub(crate) fn opened(&mut self, step: u64, size: usize) {
        self.steps.insert(step, Line { size, ..Line::default() });
        while self.steps.len() > STEPS {
            self.steps.pop_first();
        }
    }

    pub(crate) fn closed(&mut self, step: u64) {
        if let Some(line) = self.steps.get_mut(&step) {
            line.closed = true;
        }
    }

    /// A group of a step was frozen, whose task was the `at`-th that was taken.
    pub(crate) fn frozen(&mut self, number: u64, at: u64, step: u64, rows: usize) {
        self.accepted = self.accepted.max(number + 1);
        let line = self.steps.entry(step).or_default();
        line.groups += 1;
        line.rows += rows;
        self.finish(at);
    }

    /// A task is done with.
    pub(crate) fn finish(&mut self, at: u64) {
        self.done.insert(at);
        while self.done.remove(&self.low) {
            self.low += 1;
        }
    }

    /// Whether a task is.
    pub(crate) fn is_done(&self, at: u64) -> bool {
        at < self.low || self.done.contains(&at)
    }

    /// Where the scheduler goes on.
    pub(crate) fn stand(&self) -> Stand {
        let newest = self.steps.last_key_value().map(|(step, line)| (*step, *line));
        let (closed, open) = match newest {
            Some((step, line)) if !line.closed => {
                (step - 1, Some(Opened { size: line.size.max(line.groups), accepted: line.groups }))
            }
            Some((step, _)) => (step, None),
            None => (0, None),
        };
        Stand { closed: Step(closed), open, trained: Step(self.trained) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_are_done_out_of_order_are_remembered_until_those_before_them_are() {
        let mut ledger = Ledger::default();
        for at in [2, 0, 5] {
            ledger.finish(at);
        }
        assert_eq!((ledger.low, ledger.done.len()), (1, 2));
        let is_done: Vec<_> = (0..7).filter(|at| ledger.is_done(*at)).collect();
        assert_eq!(is_done, [0, 2, 5]);
        ledger.finish(1);
        assert_eq!((ledger.low, ledger.done.len()), (3, 1));
    }

    #[test]
    fn it_goes_on_in_the_step_that_was_open() {
        let mut ledger = Ledger { trained: 1, ..Ledger::default() };
        assert_eq!(ledger.stand(), Stand { trained: Step(1), ..Stand::default() });
        ledger.opened(1, 2);
        ledger.frozen(0, 0, 1, 4);
        let open = Some(Opened { size: 2, accepted: 1 });
        assert_eq!(ledger.stand(), Stand { closed: Step(0), open, trained: Step(1) });
        ledger.frozen(1, 1, 1, 4);
        ledger.closed(1);
        assert_eq!(ledger.stand(), Stand { closed: Step(1), open: None, trained: Step(1) });
        (2..2 + 2 * STEPS as u64).for_each(|step| ledger.opened(step, 1));
        assert_eq!(ledger.steps.len(), STEPS);
        assert_eq!(ledger.accepted, 2);
    }
}
