//! A dataset to evaluate on.

use std::sync::Arc;

use verbatim_dialects::Sampling;

use crate::Task;

/// A dataset, and how it is evaluated.
#[derive(Clone)]
pub struct Lane {
    /// Its name, which no other has.
    pub name: String,
    /// Its tasks.
    pub tasks: Arc<[Task]>,
    /// Sessions a task.
    pub samples: usize,
    /// Sessions at once.
    pub concurrency: usize,
    /// What every turn is sampled with, whatever its request says.
    pub pins: Option<Arc<Sampling>>,
    /// A session whose reward is at least this has passed.
    pub pass: f64,
}
