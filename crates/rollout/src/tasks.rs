//! The order in which tasks are taken.
//!
//! The invariant: how many tasks were taken says which ones; a rollout that starts behind so many goes on
//! where another one ended.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::Task;

/// How a dataset is gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// How often; `None` is without end.
    pub epochs: Option<u64>,
    /// Each epoch in an order of its own, drawn from this; `None`: always in the dataset's.
    pub shuffle: Option<u64>,
    /// Tasks that were taken before.
    pub taken: u64,
}

/// The tasks to come.
#[derive(Debug)]
pub(crate) struct Tasks {
    all: Vec<Task>,
    order: Order,
    /// Tasks behind those that were taken that are done with.
    done: BTreeSet<u64>,
    /// The present epoch, and which task comes when in it.
    epoch: Option<(u64, Vec<usize>)>,
}

/// A task that was taken.
pub(crate) struct Taken {
    pub(crate) task: Task,
    /// How often the dataset had been gone through before.
    pub(crate) epoch: u64,
    /// The task's place in the dataset, counted on through the epochs: no two groups have the same.
    pub(crate) number: u64,
    /// How many were taken before it.
    pub(crate) at: u64,
}

impl Tasks {
    pub(crate) fn new(all: Vec<Task>, order: Order) -> Self {
        Self { all, order, done: BTreeSet::new(), epoch: None }
    }

    /// Goes on behind `taken` tasks, without later ones that are done with.
    pub(crate) fn behind(self, taken: u64, done: BTreeSet<u64>) -> Self {
        Self { order: Order { taken, ..self.order }, done, ..self }
    }

    /// How many were taken, those of earlier rollouts included.
    pub(crate) fn taken(&self) -> u64 {
        self.order.taken
    }

    /// The order of an epoch.
    fn drawn(&self, epoch: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        if let Some(seed) = self.order.shuffle {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(epoch);
            for at in (1..order.len()).rev() {
                // A remainder's bias is below one in 2⁴⁰ for any dataset that fits into memory.
                order.swap(at, (rng.next_u64() % (at as u64 + 1)) as usize);
            }
        }
        order
    }
}

impl Iterator for Tasks {
    type Item = Taken;

    fn next(&mut self) -> Option<Taken> {
        while self.done.remove(&self.order.taken) {
            self.order.taken += 1;
        }
        let length = u64::try_from(self.all.len()).ok().filter(|length| *length > 0)?;
        let taken = self.order.taken;
        let (epoch, at) = (taken / length, taken % length);
        if self.order.epochs.is_some_and(|epochs| epoch >= epochs) {
            return None;
        }
        if self.epoch.as_ref().is_none_or(|(drawn, _)| *drawn != epoch) {
            self.epoch = Some((epoch, self.drawn(epoch)));
        }
        let (_, order) = self.epoch.as_ref()?;
        let task = self.all.get(*order.get(usize::try_from(at).ok()?)?)?.clone();
        self.order.taken += 1;
        let number = epoch * length + task.index as u64;
        Some(Taken { task, epoch, number, at: taken })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(order: Order) -> Tasks {
        let task = |index| Task { index, input: verbatim_agents::Input::default(), label: None };
        Tasks::new((0..5).map(task).collect(), order)
    }

    fn indices(tasks: Tasks, count: usize) -> Vec<usize> {
        tasks.take(count).map(|taken| taken.task.index).collect()
    }

    #[test]
    fn each_epoch_has_every_task_once() {
        let order = Order { epochs: Some(3), shuffle: Some(7), taken: 0 };
        let drawn = indices(tasks(order), 99);
        assert_eq!(drawn.len(), 15);
        let epochs: Vec<Vec<usize>> = drawn.chunks(5).map(<[usize]>::to_vec).collect();
        for epoch in &epochs {
            let mut sorted = epoch.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!(epochs[0] != epochs[1] || epochs[1] != epochs[2], "each is drawn anew: {epochs:?}");
        assert_eq!(indices(tasks(Order { epochs: Some(1), ..Order::default() }), 9), [0, 1, 2, 3, 4]);
        assert_eq!(indices(tasks(Order::default()), 7), [0, 1, 2, 3, 4, 0, 1], "without end");
        assert!(indices(Tasks::new(Vec::new(), Order::default()), 7).is_empty());
        let numbers: std::collections::HashSet<_> = tasks(order).map(|taken| taken.number).collect();
        assert_eq!(numbers, (0..15).collect(), "a number is a group's own in every epoch");
    }

    #[test]
    fn what_was_taken_says_what_comes() {
        let order = Order { epochs: None, shuffle: Some(3), taken: 0 };
        let whole = indices(tasks(order), 20);
        for taken in 0..20 {
            let rest = indices(tasks(Order { taken, ..order }), 20 - taken as usize);
            assert_eq!(rest, whole[taken as usize..], "behind {taken}");
        }
        let done = BTreeSet::from([4, 5, 9]);
        let rest: Vec<_> =
            tasks(order).behind(3, done).take(5).map(|taken| (taken.at, taken.task.index)).collect();
        assert_eq!(
            rest,
            [3, 6, 7, 8, 10].map(|at| (at as u64, whole[at])),
            "without those that are done with"
        );
    }
}
