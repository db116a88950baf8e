//! A rollout as whoever drives it sees it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use verbatim_process::Launcher;
use verbatim_scheduler::Mode;
use verbatim_session::Sessions;

use crate::context::Context;
use crate::driver::Driver;
use crate::eval::Evaluator;
use crate::score::Scorer;
use crate::tasks::Tasks;
use crate::{
    Custody, EvalRefused, EvalReport, Lane, Order, Outcome, Past, Phase, Plan, RolloutError, Sink, StepState,
    StepView, Summary, Task,
};

/// What a rollout runs with.
pub struct Parts {
    /// What it is to do.
    pub plan: Plan,
    /// The sessions, which must be served at `server` and have rules for groups.
    pub sessions: Sessions,
    /// Starts agents.
    pub launcher: Launcher,
    /// The server's root, without a trailing slash.
    pub server: String,
    /// The dataset.
    pub tasks: Vec<Task>,
    /// How it is gone through.
    pub order: Order,
    /// What it is evaluated on.
    pub lanes: Vec<Lane>,
    /// Where rows go.
    pub sink: Arc<dyn Sink>,
    /// What keeps rows and the rollout's place on disk, with what an earlier server left.
    pub custody: Option<(Custody, Past)>,
    /// Who watches.
    pub progress: Box<dyn Progress>,
}

/// Someone who watches.
pub trait Progress: Send {
    /// A group ended: its rows were taken for good, or it was dropped.
    fn group(&mut self, outcome: &Outcome);
}

impl Progress for () {
    fn group(&mut self, _: &Outcome) {}
}

/// A rollout under way. Clones are the same one; it is stopped by [`Rollout::stop`], or when the last is gone.
#[derive(Clone)]
pub struct Rollout {
    orders: mpsc::UnboundedSender<Asked>,
    mode: Option<Mode>,
    evaluator: Evaluator,
    custody: Option<Custody>,
}

/// The end of a rollout.
pub type Ending = JoinHandle<Result<Summary, RolloutError>>;

/// A step that is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    /// Another one is.
    #[error("step {step} is not over: wait until it is done")]
    Open {
        /// Which.
        step: u64,
    },
    /// The settings end it, the dataset is at its end, or the rollout was drained.
    #[error("the rollout is over: no step can come any more")]
    Over,
    /// A size that does not go with the mode.
    #[error(
        "groups: in mode async every step has rollout.batch groups, for which the room ahead is reckoned"
    )]
    GroupsInAsync,
    /// A step without groups.
    #[error("groups: 0 of them make no step")]
    NoGroups,
    /// The rollout is gone.
    #[error("the rollout was stopped")]
    Stopped,
    /// The journal cannot keep it.
    #[error("{problem}")]
    Unkept {
        /// What the disk says.
        problem: String,
    },
}

/// What is asked of a rollout.
pub(crate) enum Asked {
    Open(Option<NonZeroUsize>, oneshot::Sender<Result<u64, StepRefused>>),
    /// To be told once the step is done.
    Done(u64, oneshot::Sender<StepView>),
    Step(u64, oneshot::Sender<Option<StepView>>),
    Look(oneshot::Sender<View>),
    Trained(u64),
    Drain,
    Stop,
}

/// A rollout at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The newest steps, the newest last.
    pub steps: Vec<StepView>,
    /// Groups that the open step still needs.
    pub debt: usize,
    /// Groups that live, by where they are.
    pub groups: std::collections::BTreeMap<Phase, usize>,
    /// Agents that live.
    pub agents: usize,
    /// Attempts that run.
    pub running: usize,
    /// Turns that wait.
    pub waiting: usize,
    /// Tasks that were taken: what `dataset.taken` of a rollout is that goes on from here.
    pub taken: u64,
    /// The step up to which the weights that sample have been trained.
    pub trained: u64,
    /// Whether no step can come any more.
    pub over: bool,
    /// Why the rollout failed, if it did.
    pub failed: Option<String>,
}

impl View {
    /// The newest step whose rows were all taken for good.
    pub fn newest_done(&self) -> Option<u64> {
        self.steps.iter().rev().find(|step| step.state == StepState::Done).map(|step| step.step)
    }
}

impl Rollout {
    /// Starts a rollout. Nothing begins before a step is opened.
    pub fn start(parts: Parts) -> (Self, Ending) {
        let Parts { plan, sessions, launcher, server, tasks, order, lanes, sink, custody, progress } = parts;
        let mode = sessions.settings().resident.as_ref().map(verbatim_scheduler::Rules::mode);
        let scorer = Scorer::new(plan.credit.clone(), launcher.clone(), plan.mode == "train");
        let context = Arc::new(Context { plan, sessions, launcher, scorer: Arc::new(scorer), server });
        let (orders, asked) = mpsc::unbounded_channel();
        let evaluator = Evaluator::new(Arc::clone(&context), lanes);
        let kept = custody.as_ref().map(|(custody, _)| custody.clone());
        let driver = Driver::new(context, Tasks::new(tasks, order), sink, progress, custody);
        let evaluations = evaluator.clone();
        let ending = tokio::spawn(async move {
            let ended = driver.drive(asked).await;
            evaluations.stop().await;
            ended
        });
        (Self { orders, mode, evaluator, custody: kept }, ending)
    }

    /// Begins an evaluation on these datasets, or on all; its number.
    ///
    /// # Errors
    /// [`EvalRefused`].
    pub fn evaluate(&self, datasets: Option<&[String]>) -> Result<u64, EvalRefused> {
        self.evaluator.begin(datasets)
    }

    /// An evaluation's report, none while it runs; none at all if there is no evaluation of this number.
    pub fn evaluation(&self, number: u64) -> Option<Option<Arc<EvalReport>>> {
        self.evaluator.report(number)
    }

    /// An evaluation's report, once it is over.
    pub async fn evaluated(&self, number: u64) -> Option<Arc<EvalReport>> {
        self.evaluator.done(number).await
    }

    /// Opens the next step, of `groups` groups or as many as the rules say.
    ///
    /// # Errors
    /// [`StepRefused`].
    pub async fn open(&self, groups: Option<usize>) -> Result<u64, StepRefused> {
        let groups =
            groups.map(|groups| NonZeroUsize::new(groups).ok_or(StepRefused::NoGroups)).transpose()?;
        if groups.is_some() && matches!(self.mode, Some(Mode::Async { .. })) {
            return Err(StepRefused::GroupsInAsync);
        }
        let step = self.ask(|told| Asked::Open(groups, told)).await.ok_or(StepRefused::Stopped)??;
        // A step that was told of is there after a restart.
        if let Some(custody) = &self.custody {
            custody.settled().await.map_err(|error| StepRefused::Unkept { problem: error.to_string() })?;
        }
        Ok(step)
    }

    /// Waits until a step is done: it has its groups, and their rows were taken for good. `None` if the rollout
    /// ends before.
    pub async fn done(&self, step: u64) -> Option<StepView> {
        self.ask(|told| Asked::Done(step, told)).await
    }

    /// A step, if it was ever opened.
    pub async fn step(&self, step: u64) -> Option<StepView> {
        self.ask(|told| Asked::Step(step, told)).await?
    }

    /// The rollout as it is; `None` if it is gone.
    pub async fn view(&self) -> Option<View> {
        self.ask(Asked::Look).await
    }

    /// Says that the weights that sample from now on have been trained up to this step.
    pub fn trained(&self, step: u64) {
        let _ = self.orders.send(Asked::Trained(step));
    }

    /// No group begins from now on, and those that no step has taken are dropped; rows that wait to be taken stay.
    pub fn drain(&self) {
        let _ = self.orders.send(Asked::Drain);
    }

    /// As [`drain`](Self::drain); then the rollout ends, and rows that nobody took are lost, each with its cause.
    pub fn stop(&self) {
        let _ = self.orders.send(Asked::Stop);
    }

    async fn ask<T>(&self, asked: impl FnOnce(oneshot::Sender<T>) -> Asked) -> Option<T> {
        let (told, answer) = oneshot::channel();
        self.orders.send(asked(told)).ok()?;
        answer.await.ok()
    }
}
