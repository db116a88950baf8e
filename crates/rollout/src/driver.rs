//! A whole rollout: the shell that carries out what the scheduler decides about groups.
//!
//! The invariant: nothing is decided here. Every end of a session is told to the scheduler once, after its
//! processes are gone; every action is carried out in the order in which it was decided; a group is told as
//! finished once its rows were taken for good.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinSet};
use verbatim_agents::Told;
use verbatim_events::{Cause, Event, Observers};
use verbatim_scheduler::{Action, DropCause, Exit, GroupId, Input, SessionId, Step, StopCause, Unwanted};
use verbatim_session::Dispatcher;

use crate::context::Context;
use crate::delivery::{Delivered, Deliveries};
use crate::group::{Group, Phase};
use crate::handle::Asked;
use crate::member::{Ended, Role, member};
use crate::score::{Identity, Verdict, Verdicts};
use crate::steps::StepBook;
use crate::tasks::Tasks;
use crate::{
    Batch, Custody, Outcome, Past, Progress, RolloutError, Sink, SinkError, StepRefused, Summary, View,
};

/// How many steps a view shows.
const SHOWN: usize = 8;

pub(crate) struct Driver {
    context: Arc<Context>,
    observers: Observers,
    dispatcher: Dispatcher,
    actions: mpsc::UnboundedReceiver<Action>,
    tasks: Tasks,
    groups: HashMap<GroupId, Group>,
    /// How a running session is told to end.
    told: HashMap<SessionId, oneshot::Sender<Told>>,
    members: JoinSet<Ended>,
    /// Whose task is whose.
    running: HashMap<Id, SessionId>,
    /// What becomes of groups that are scored, and where that is told.
    judged: mpsc::UnboundedReceiver<(GroupId, Verdict)>,
    verdicts: Verdicts,
    deliveries: Deliveries,
    steps: StepBook,
    trained: u64,
    /// How many groups were accepted.
    accepted: u64,
    custody: Option<Custody>,
    progress: Box<dyn Progress>,
    summary: Summary,
    /// Why the latest dropped group was, and what was said of it.
    latest_drop: (&'static str, Option<String>),
    failed: Option<RolloutError>,
    stopping: bool,
}

impl Driver {
    pub(crate) fn new(
        context: Arc<Context>,
        tasks: Tasks,
        sink: Arc<dyn Sink>,
        progress: Box<dyn Progress>,
        custody: Option<(Custody, Past)>,
    ) -> Self {
        let (custody, past) = custody.unzip();
        if let Some((custody, past)) = custody.as_ref().zip(past.as_ref()) {
            sink.keep(custody, past.ledger.accepted);
        }
        let dispatcher = context.sessions.dispatcher().clone();
        let (verdicts, judged) = mpsc::unbounded_channel();
        let driver = Self {
            observers: context.sessions.observers().clone(),
            actions: dispatcher.groups(),
            dispatcher,
            tasks,
            groups: HashMap::new(),
            told: HashMap::new(),
            members: JoinSet::new(),
            running: HashMap::new(),
            judged,
            verdicts,
            deliveries: Deliveries::new(sink, custody.clone()),
            steps: StepBook::default(),
            trained: 0,
            accepted: 0,
            custody,
            progress,
            summary: Summary::default(),
            latest_drop: ("", None),
            failed: None,
            stopping: false,
            context,
        };
        match past {
            Some(past) => driver.behind(past),
            None => driver,
        }
    }

    /// Goes on where an earlier server was stopped: its steps, the tasks it was not done with, and rows that nobody
    /// had taken for good.
    fn behind(mut self, past: Past) -> Self {
        let Past { ledger, frozen } = past;
        let stand = ledger.stand();
        self.trained = ledger.trained;
        self.accepted = ledger.accepted;
        for (step, line) in &ledger.steps {
            let is_closed = line.closed || *step <= stand.closed.0;
            self.steps.restore(*step, is_closed, line.groups, line.rows);
        }
        self.tasks = self.tasks.behind(ledger.low, ledger.done);
        for batch in frozen {
            let outcome = Outcome::of_earlier(batch.group.clone());
            self.deliveries.start(outcome, Arc::new(batch), None);
        }
        self.dispatcher.tell(Input::Resume(stand));
        self
    }

    /// Runs until it is stopped and nothing of it is left.
    pub(crate) async fn drive(
        mut self,
        mut asked: mpsc::UnboundedReceiver<Asked>,
    ) -> Result<Summary, RolloutError> {
        loop {
            self.act();
            if self.steps.is_awaited() {
                self.steps.answer(&self.deliveries.by_step());
            }
            if self.stopping && self.dispatcher.is_over() && self.members.is_empty() {
                self.deliveries.close();
                if self.deliveries.len() == 0 {
                    break;
                }
            }
            tokio::select! {
                Some(action) = self.actions.recv() => self.carry_out(action),
                Some(ended) = self.members.join_next_with_id() => self.ended(ended),
                Some((group, verdict)) = self.judged.recv() => self.judge(group, verdict),
                Some(delivered) = self.deliveries.next() => self.delivered(delivered),
                order = asked.recv(), if !self.stopping => self.order(order.unwrap_or(Asked::Stop)),
            }
        }
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.summary),
        }
    }

    fn order(&mut self, asked: Asked) {
        match asked {
            Asked::Open(groups, told) => {
                self.act();
                let (open, before) = (self.steps.open_one(), self.steps.newest_number());
                self.dispatcher.tell(Input::OpenStep(groups));
                // The scheduler decides at once: if it opened a step, its word is here; and if finished groups
                // waited for the step, so is the word that it has closed.
                self.act();
                let opened = match (open, self.steps.newest_number()) {
                    (Some(step), _) => Err(StepRefused::Open { step }),
                    (None, step) if step > before => Ok(step),
                    (None, _) => Err(StepRefused::Over),
                };
                let _ = told.send(opened);
            }
            Asked::Done(step, told) => self.steps.wait(step, told),
            Asked::Step(step, told) => {
                let _ = told.send(self.steps.view(step, &self.deliveries.by_step()));
            }
            Asked::Look(told) => {
                let _ = told.send(self.view());
            }
            Asked::Trained(step) => {
                self.trained = self.trained.max(step);
                self.custody.iter().for_each(|custody| custody.trained(step));
                self.dispatcher.tell(Input::Trained(Step(step)));
            }
            Asked::Drain => self.dispatcher.tell(Input::Interrupt),
            Asked::Stop => {
                self.stopping = true;
                self.dispatcher.tell(Input::Interrupt);
            }
        }
    }

    fn view(&self) -> View {
        let (running, waiting) = self.dispatcher.load();
        let mut groups = std::collections::BTreeMap::new();
        for group in self.groups.values() {
            *groups.entry(group.phase).or_default() += 1;
        }
        if self.deliveries.len() > 0 {
            groups.insert(Phase::Delivering, self.deliveries.len());
        }
        View {
            steps: self.steps.newest(SHOWN, &self.deliveries.by_step()),
            debt: self.dispatcher.debt(),
            groups,
            agents: self.members.len(),
            running,
            waiting,
            taken: self.tasks.taken(),
            trained: self.trained,
            over: self.dispatcher.is_over(),
            failed: self.failed.as_ref().map(ToString::to_string),
        }
    }

    fn ended(&mut self, ended: Result<(Id, Ended), JoinError>) {
        let (id, ended) = match ended {
            Ok((id, ended)) => (id, Some(ended)),
            Err(error) => {
                tracing::error!(%error, "a session's task ended without an end");
                (error.id(), None)
            }
        };
        let Some(session) = self.running.remove(&id) else { return };
        self.told.remove(&session);
        let exit = ended.as_ref().map_or(Exit::Failed { again: false }, Ended::exit);
        if let (Some(group), Some(ended)) = (self.groups.get_mut(&session.group), ended) {
            group.end(session, ended, &self.context.scorer, &self.observers, &self.verdicts);
        }
        self.dispatcher.tell(Input::Exited(session, exit));
    }

    /// Takes the word of those who score. Of a group that is gone it comes too late.
    fn judge(&mut self, id: GroupId, verdict: Verdict) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let why = match verdict {
            Verdict::Scored(sessions) => {
                group.scored(sessions);
                self.dispatcher.tell(Input::Scored(id));
                return;
            }
            Verdict::Filtered { reason } => {
                group.unwanted(Cause::Filtered { reason }, None);
                Unwanted::Filtered
            }
            Verdict::Uncredited { text } => {
                group.unwanted(Cause::ContextsUncredited, Some(text));
                Unwanted::NotScored
            }
            Verdict::NotScored(failure) => {
                group.unwanted(Cause::RewardFailed, Some(failure.to_string()));
                Unwanted::NotScored
            }
        };
        self.dispatcher.tell(Input::Discard(id, why));
    }

    /// Carries out what has been decided.
    fn act(&mut self) {
        while let Ok(action) = self.actions.try_recv() {
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Begin(group) => self.begin(group),
            Action::Launch(session) => self.launch(session),
            Action::Stop(session, cause) => {
                if let Some(told) = self.told.remove(&session) {
                    // An agent that has just ended needs no telling.
                    let _ = told.send(match cause {
                        StopCause::Dropped => Told::End,
                        StopCause::Timeout => Told::TimeUp,
                    });
                }
            }
            Action::Ready(group) => {
                self.note(group, Some(Phase::Ready), |group| Event::GroupReady { group });
            }
            Action::Lease(group, Step(step)) => {
                self.note(group, Some(Phase::Leased), |group| Event::GroupLeased { group, step });
            }
            Action::Protect(group) => self.note(group, None, |group| Event::GroupProtected { group }),
            Action::Score(id) => {
                self.note(id, Some(Phase::Scoring), |group| Event::GroupFinalised { group });
                if let Some(group) = self.groups.get_mut(&id) {
                    group.score(id, &self.context.scorer, &self.verdicts);
                }
            }
            Action::Finalise(group) => {
                self.note(group, Some(Phase::Finalised), |group| Event::GroupScored { group });
            }
            Action::Accept { group, step, is_last } => self.accept(group, step, is_last),
            Action::Dropped(group, cause) => {
                let Some(group) = self.groups.remove(&group) else { return };
                // What the end of the rollout interrupts may be run again.
                if let Some(custody) = self.custody.as_ref().filter(|_| cause != DropCause::Interrupted) {
                    custody.dropped(group.at);
                }
                let outcome = group.outcome(Some(cause));
                if let Some(cause) = outcome.dropped.clone() {
                    self.latest_drop = (cause.name(), outcome.failures.first().cloned());
                    self.observers.tell(&Event::GroupDropped { group: outcome.group.clone(), cause });
                }
                self.count(&outcome);
            }
            Action::GaveUp(groups) => {
                let (cause, text) = self.latest_drop.clone();
                self.failed.get_or_insert(RolloutError::GaveUp { groups, cause, text });
            }
            Action::StepOpened { step: Step(step), size } => {
                self.steps.open(step);
                self.custody.iter().for_each(|custody| custody.opened(step, size));
                self.observers.tell(&Event::StepOpened { step });
            }
            Action::StepClosed(Step(step)) => {
                self.steps.close(step);
                self.custody.iter().for_each(|custody| custody.closed(step));
                self.observers.tell(&Event::StepClosed { step });
            }
            // Turns have their own shell.
            Action::Dispatch(_) | Action::Abort(_) | Action::Expire(_) => {}
        }
    }

    fn note(
        &mut self,
        group: GroupId,
        phase: Option<Phase>,
        event: impl FnOnce(verbatim_events::GroupId) -> Event,
    ) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.phase = phase.unwrap_or(group.phase);
            self.observers.tell(&event(group.name.clone()));
        }
    }

    fn begin(&mut self, id: GroupId) {
        let Some(taken) = self.tasks.next() else {
            self.dispatcher.tell(Input::Exhausted(id));
            return;
        };
        let group = Group::new(&self.context.plan.mode, taken);
        let sessions = self.context.plan.group_size;
        self.observers.tell(&Event::GroupStarted { group: group.name.clone(), sessions });
        self.groups.insert(id, group);
    }

    fn launch(&mut self, session: SessionId) {
        let Some(group) = self.groups.get(&session.group) else { return };
        let (sender, told) = oneshot::channel();
        let context = Arc::clone(&self.context);
        let (name, task, number) = (group.name.clone(), group.task.clone(), group.number);
        let handle = self.members.spawn(async move {
            let plan = &context.plan;
            let role = Role {
                group: &name,
                place: session.place,
                attempt: session.attempt,
                seat: Some(session),
                mode: &plan.mode,
                pins: None,
                identity: Identity::of(number, plan.group_size, session.place),
            };
            member(&context, role, &task, told).await
        });
        self.running.insert(handle.id(), session);
        self.told.insert(session, sender);
    }

    fn accept(&mut self, group: GroupId, Step(step): Step, is_last: bool) {
        let Some(group) = self.groups.remove(&group) else { return };
        let at = group.at;
        let mut outcome = group.outcome(None);
        let rows = std::mem::take(&mut outcome.rows);
        self.steps.accept(step, rows.len());
        let number = self.accepted;
        self.accepted += 1;
        if let Some(custody) = &self.custody {
            custody.accept(step);
        }
        let batch = Arc::new(Batch { number, step, group: outcome.group.clone(), rows, is_last });
        self.deliveries.start(outcome, batch, Some(at));
    }

    fn delivered(&mut self, delivered: Delivered) {
        let Delivered { mut outcome, batch, put } = delivered;
        if self.custody.is_some() && matches!(put, Err(SinkError::Closed)) {
            tracing::info!(group = %outcome.group, "its rows wait in the journal");
            return;
        }
        let group = outcome.group.clone();
        let event = match put {
            Ok(()) => {
                let Batch { step, is_last, ref rows, .. } = *batch;
                Event::GroupFinished { group, rows: rows.len(), step, is_last }
            }
            Err(error) => {
                outcome.dropped = Some(Cause::Undelivered);
                if !matches!(error, SinkError::Closed) {
                    // A sink that fails ends the other groups as Ctrl-C would.
                    self.failed.get_or_insert(error.into());
                    self.dispatcher.tell(Input::Interrupt);
                }
                Event::GroupDropped { group, cause: Cause::Undelivered }
            }
        };
        self.observers.tell(&event);
        // Nobody else holds rows that were taken, but for one who acknowledged them a moment ago.
        outcome.rows = Arc::try_unwrap(batch).map_or_else(|held| held.rows.clone(), |batch| batch.rows);
        self.count(&outcome);
    }

    fn count(&mut self, outcome: &Outcome) {
        self.progress.group(outcome);
        self.summary.add(outcome, self.context.scorer.key());
    }
}
