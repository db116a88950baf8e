//! Evaluation: datasets that are run beside the sessions that train.
//!
//! The invariants: an evaluation's sessions have permits of their own, and belong to no group of the scheduler's, so
//! that they neither wait for a step nor hold one up; at a closed gate their turns are held as everybody's; every
//! session of it is counted once, those that failed among all.

mod lane;
mod pass_at;
mod report;
mod task;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures::future::join_all;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use verbatim_events::Event;

use crate::context::Context;

pub use lane::Lane;
pub use report::{DatasetReport, EvalReport};

/// An evaluation that does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalRefused {
    /// There is no such dataset.
    #[error("datasets: {name:?} is none of {known:?}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// There is no dataset at all.
    #[error("the rollout has no dataset to evaluate on; name one in a section [[eval]]")]
    None,
    /// The rollout was stopped.
    #[error("the rollout was stopped")]
    Stopped,
}

/// All evaluations of a rollout. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Evaluator(Arc<Inner>);

struct Inner {
    context: Arc<Context>,
    lanes: Vec<Lane>,
    /// The sessions of each lane that may live at once, whichever evaluation they are of.
    permits: HashMap<String, Arc<Semaphore>>,
    begun: Mutex<BTreeMap<u64, watch::Receiver<Option<Arc<EvalReport>>>>>,
    stop: CancellationToken,
    running: TaskTracker,
}

impl Evaluator {
    pub(crate) fn new(context: Arc<Context>, lanes: Vec<Lane>) -> Self {
        let permits = lanes.iter().map(|lane| {
            (lane.name.clone(), Arc::new(Semaphore::new(lane.concurrency.clamp(1, Semaphore::MAX_PERMITS))))
        });
        Self(Arc::new(Inner {
            permits: permits.collect(),
            context,
            lanes,
            begun: Mutex::default(),
            stop: CancellationToken::new(),
            running: TaskTracker::new(),
        }))
    }

    /// Begins an evaluation on these datasets, or on all; its number.
    pub(crate) fn begin(&self, names: Option<&[String]>) -> Result<u64, EvalRefused> {
        let inner = &self.0;
        if inner.stop.is_cancelled() {
            return Err(EvalRefused::Stopped);
        }
        let known = || inner.lanes.iter().map(|lane| lane.name.clone()).collect();
        let lanes: Vec<Lane> = match names {
            None => inner.lanes.clone(),
            Some(names) => {
                let find = |name: &String| {
                    let found = inner.lanes.iter().find(|lane| lane.name == *name).cloned();
                    found.ok_or_else(|| EvalRefused::Unknown { name: name.clone(), known: known() })
                };
                names.iter().map(find).collect::<Result<_, _>>()?
            }
        };
        if lanes.is_empty() {
            return Err(EvalRefused::None);
        }
        let (told, report) = watch::channel(None);
        let number = {
            let mut begun = self.begun();
            let number = begun.last_key_value().map_or(1, |(last, _)| last + 1);
            begun.insert(number, report);
            number
        };
        let evaluator = self.clone();
        inner.running.spawn(async move {
            let report = evaluator.run(number, lanes).await;
            told.send_replace(Some(Arc::new(report)));
        });
        Ok(number)
    }

    /// An evaluation's report, if there is one of this number; none while it runs.
    pub(crate) fn report(&self, number: u64) -> Option<Option<Arc<EvalReport>>> {
        self.begun().get(&number).map(|report| report.borrow().clone())
    }

    /// An evaluation's report, once it is over; none if there is no evaluation of this number.
    pub(crate) async fn done(&self, number: u64) -> Option<Arc<EvalReport>> {
        let mut report = self.begun().get(&number)?.clone();
        let done = report.wait_for(Option::is_some).await.ok()?;
        done.clone()
    }

    /// Ends what runs, and returns once nothing of it is left.
    pub(crate) async fn stop(&self) {
        self.0.stop.cancel();
        self.0.running.close();
        self.0.running.wait().await;
    }

    async fn run(&self, number: u64, lanes: Vec<Lane>) -> EvalReport {
        let datasets = join_all(lanes.iter().map(|lane| self.dataset(number, lane))).await;
        EvalReport { evaluation: number, datasets }
    }

    async fn dataset(&self, number: u64, lane: &Lane) -> DatasetReport {
        let inner = &self.0;
        let began = Instant::now();
        let permits = Arc::clone(&inner.permits[&lane.name]);
        let tasks = lane
            .tasks
            .iter()
            .map(|task| task::run(&inner.context, number, lane, task, &permits, &inner.stop));
        let tasks = join_all(tasks).await;
        let report = DatasetReport::of(lane, &tasks, inner.context.scorer.key(), began.elapsed());
        inner.context.sessions.observers().tell(&Event::Evaluated {
            evaluation: number,
            dataset: lane.name.clone(),
            sessions: report.sessions,
            failed: report.failed.values().sum(),
            passed: report.passed,
        });
        report
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<u64, watch::Receiver<Option<Arc<EvalReport>>>>> {
        self.0.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
