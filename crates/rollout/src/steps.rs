//! What is known of the steps.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tokio::sync::oneshot;

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It takes groups.
    Open,
    /// It takes no more; the rows of some of its groups were not taken for good yet.
    Closed,
    /// All its rows are where they belong.
    Done,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepView {
    /// Its number, from 1.
    pub step: u64,
    /// Where it is.
    pub state: StepState,
    /// Groups that it accepted.
    pub groups: usize,
    /// Their rows.
    pub rows: usize,
    /// Groups whose rows were not taken for good yet.
    pub undelivered: usize,
}

/// All steps of a rollout, and who waits for them.
#[derive(Default)]
pub(crate) struct StepBook {
    steps: BTreeMap<u64, Entry>,
    waiters: Vec<(u64, oneshot::Sender<StepView>)>,
}

#[derive(Default)]
struct Entry {
    closed: bool,
    groups: usize,
    rows: usize,
}

impl StepBook {
    /// A step of an earlier server.
    pub(crate) fn restore(&mut self, step: u64, closed: bool, groups: usize, rows: usize) {
        self.steps.insert(step, Entry { closed, groups, rows });
    }

    pub(crate) fn open(&mut self, step: u64) {
        self.steps.entry(step).or_default();
    }

    pub(crate) fn accept(&mut self, step: u64, rows: usize) {
        let entry = self.steps.entry(step).or_default();
        entry.groups += 1;
        entry.rows += rows;
    }

    pub(crate) fn close(&mut self, step: u64) {
        self.steps.entry(step).or_default().closed = true;
    }

    pub(crate) fn wait(&mut self, step: u64, told: oneshot::Sender<StepView>) {
        self.waiters.push((step, told));
    }

    /// The newest step that takes groups.
    pub(crate) fn open_one(&self) -> Option<u64> {
        self.steps.iter().rev().find(|(_, entry)| !entry.closed).map(|(step, _)| *step)
    }

    /// How many steps there have been.
    pub(crate) fn newest_number(&self) -> u64 {
        self.steps.last_key_value().map_or(0, |(step, _)| *step)
    }

    /// A step; `undelivered` groups are on their way, by step.
    pub(crate) fn view(&self, step: u64, undelivered: &HashMap<u64, usize>) -> Option<StepView> {
        let entry = self.steps.get(&step)?;
        let undelivered = undelivered.get(&step).copied().unwrap_or_default();
        let state = match (entry.closed, undelivered) {
            (false, _) => StepState::Open,
            (true, 0) => StepState::Done,
            (true, _) => StepState::Closed,
        };
        Some(StepView { step, state, groups: entry.groups, rows: entry.rows, undelivered })
    }

    /// The newest steps, at most `count`, the newest last.
    pub(crate) fn newest(&self, count: usize, undelivered: &HashMap<u64, usize>) -> Vec<StepView> {
        let newest: Vec<u64> = self.steps.keys().rev().take(count).copied().collect();
        newest.into_iter().rev().filter_map(|step| self.view(step, undelivered)).collect()
    }

    /// Whether anybody waits for a step.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Answers those whose step is done, and forgets those who went away.
    pub(crate) fn answer(&mut self, undelivered: &HashMap<u64, usize>) {
        for (step, told) in std::mem::take(&mut self.waiters) {
            match self.view(step, undelivered) {
                Some(view) if view.state == StepState::Done => {
                    let _ = told.send(view);
                }
                _ if told.is_closed() => {}
                _ => self.waiters.push((step, told)),
            }
        }
    }
}
