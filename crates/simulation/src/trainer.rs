//! The trainer: trains one step after another, then has the engines take the weights.

use std::collections::VecDeque;

use verbatim_scheduler::Step;

/// What the trainer is doing.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Steps that wait to be trained.
    waiting: VecDeque<Step>,
    /// The step in training.
    pub(crate) training: Option<Step>,
}

impl Queue {
    /// Takes a complete step. Whether training it begins now.
    pub(crate) fn take(&mut self, step: Step) -> Option<Step> {
        self.waiting.push_back(step);
        self.next()
    }

    /// The step in training is done; the one that follows.
    pub(crate) fn done(&mut self) -> Option<Step> {
        self.training = None;
        self.next()
    }

    fn next(&mut self) -> Option<Step> {
        if self.training.is_none() {
            self.training = self.waiting.pop_front();
            return self.training;
        }
        None
    }
}
