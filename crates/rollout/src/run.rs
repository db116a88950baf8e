//! A whole rollout: the shell that carries out what the scheduler decides about groups.
//!
//! The invariant: nothing is decided here. Every end of a session is told to the scheduler once, after its
//! processes are gone; every action is carried out in the order in which it was decided.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use verbatim_agents::Told;
use verbatim_events::{Event, Observers};
use verbatim_process::Launcher;
use verbatim_scheduler::{Action, Exit, GroupId, Input, SessionId, Step, StopCause};
use verbatim_session::{Dispatcher, Sessions};

use crate::context::Context;
use crate::group::Group;
use crate::member::{Ended, member};
use crate::score::Scorer;
use crate::{Outcome, Plan, RolloutError, Summary, Task, write};

/// What a rollout runs with.
pub struct Run {
    context: Arc<Context>,
}

/// Someone who watches.
pub trait Progress {
    /// A group ended: its rows are on disk, or it was dropped.
    fn group(&mut self, outcome: &Outcome);
}

impl Run {
    /// A rollout of `plan` over `sessions`, which must be served at `server` and have rules for groups.
    pub fn new(plan: Plan, sessions: Sessions, launcher: Launcher, server: String) -> Self {
        let scorer = Scorer::new(plan.credit.clone(), launcher.clone(), plan.mode == "train");
        let scorer = Arc::new(scorer);
        Self { context: Arc::new(Context { plan, sessions, launcher, scorer, server }) }
    }

    /// Runs the tasks, a step after the other; nobody trains in between. Once `stop` is cancelled no group
    /// begins, those under way end, and what was finished stays on disk.
    ///
    /// # Errors
    /// [`RolloutError`] if rows cannot be written; groups under way are ended first.
    pub async fn tasks(
        &self,
        tasks: Vec<Task>,
        progress: &mut dyn Progress,
        stop: &CancellationToken,
    ) -> Result<Summary, RolloutError> {
        write::prepare(&self.context.plan.folder)?;
        let dispatcher = self.context.sessions.dispatcher().clone();
        let mut shell = Shell {
            context: Arc::clone(&self.context),
            observers: self.context.sessions.observers().clone(),
            actions: dispatcher.groups(),
            dispatcher,
            tasks: tasks.into_iter(),
            groups: HashMap::new(),
            told: HashMap::new(),
            members: JoinSet::new(),
            running: HashMap::new(),
            progress,
            summary: Summary::default(),
            failed: None,
        };
        if stop.is_cancelled() {
            return Ok(shell.summary);
        }
        shell.dispatcher.tell(Input::OpenStep);
        shell.drive(stop).await;
        match shell.failed {
            Some(error) => Err(error),
            None => Ok(shell.summary),
        }
    }
}

struct Shell<'a> {
    context: Arc<Context>,
    observers: Observers,
    dispatcher: Dispatcher,
    actions: mpsc::UnboundedReceiver<Action>,
    tasks: std::vec::IntoIter<Task>,
    groups: HashMap<GroupId, Group>,
    /// How a running session is told to end.
    told: HashMap<SessionId, oneshot::Sender<Told>>,
    members: JoinSet<Ended>,
    /// Whose task is whose.
    running: HashMap<tokio::task::Id, SessionId>,
    progress: &'a mut dyn Progress,
    summary: Summary,
    failed: Option<RolloutError>,
}

impl Shell<'_> {
    async fn drive(&mut self, stop: &CancellationToken) {
        let mut stopped = false;
        loop {
            while let Ok(action) = self.actions.try_recv() {
                self.act(action);
            }
            if self.dispatcher.is_over() && self.members.is_empty() {
                return;
            }
            tokio::select! {
                Some(action) = self.actions.recv() => self.act(action),
                Some(ended) = self.members.join_next_with_id() => self.ended(ended),
                () = stop.cancelled(), if !stopped => {
                    stopped = true;
                    self.dispatcher.tell(Input::Interrupt);
                }
            }
        }
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, Ended), tokio::task::JoinError>) {
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
            group.end(session, ended);
        }
        self.dispatcher.tell(Input::Exited(session, exit));
    }

    fn act(&mut self, action: Action) {
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
            Action::Ready(group) => self.note(group, |group| Event::GroupReady { group }),
            Action::Lease(group, Step(step)) => self.note(group, |group| Event::GroupLeased { group, step }),
            Action::Protect(group) => self.note(group, |group| Event::GroupProtected { group }),
            Action::Score(group) => {
                self.note(group, |group| Event::GroupFinalised { group });
                self.dispatcher.tell(Input::Scored(group));
            }
            Action::Finalise(group) => self.note(group, |group| Event::GroupScored { group }),
            Action::Accept { group, step, is_last } => self.accept(group, step, is_last),
            Action::Dropped(group, cause) => {
                let Some(group) = self.groups.remove(&group) else { return };
                let outcome = group.outcome(Some(cause));
                if let Some(cause) = outcome.dropped.clone() {
                    self.observers.tell(&Event::GroupDropped { group: outcome.group.clone(), cause });
                }
                self.count(&outcome);
            }
            Action::StepOpened(Step(step)) => self.observers.tell(&Event::StepOpened { step }),
            Action::StepClosed(step) => {
                self.observers.tell(&Event::StepClosed { step: step.0 });
                self.dispatcher.tell(Input::Trained(step));
                self.dispatcher.tell(Input::OpenStep);
            }
            // Turns have their own shell.
            Action::Dispatch(_) | Action::Abort(_) | Action::Expire(_) => {}
        }
    }

    fn note(&self, group: GroupId, event: impl FnOnce(verbatim_events::GroupId) -> Event) {
        if let Some(group) = self.groups.get(&group) {
            self.observers.tell(&event(group.name.clone()));
        }
    }

    fn begin(&mut self, id: GroupId) {
        let Some(task) = self.tasks.next() else {
            self.dispatcher.tell(Input::Exhausted(id));
            return;
        };
        let group = Group::new(&self.context.plan.mode, task);
        let sessions = self.context.plan.group_size;
        self.observers.tell(&Event::GroupStarted { group: group.name.clone(), sessions });
        self.groups.insert(id, group);
    }

    fn launch(&mut self, session: SessionId) {
        let Some(group) = self.groups.get(&session.group) else { return };
        let (sender, told) = oneshot::channel();
        let (context, name, task) = (Arc::clone(&self.context), group.name.clone(), group.task.clone());
        let handle = self.members.spawn(async move { member(&context, name, session, &task, told).await });
        self.running.insert(handle.id(), session);
        self.told.insert(session, sender);
    }

    fn accept(&mut self, group: GroupId, Step(step): Step, is_last: bool) {
        let Some(group) = self.groups.remove(&group) else { return };
        let outcome = group.outcome(None);
        if let Err(error) = write::group(&self.context.plan, &outcome) {
            // Failing to write ends the other groups as Ctrl-C would.
            self.failed.get_or_insert(error);
            self.dispatcher.tell(Input::Interrupt);
            return;
        }
        let (group, rows) = (outcome.group.clone(), outcome.rows.len());
        self.observers.tell(&Event::GroupFinished { group, rows, step, is_last });
        self.count(&outcome);
    }

    fn count(&mut self, outcome: &Outcome) {
        self.progress.group(outcome);
        self.summary.add(outcome);
    }
}
