//! A whole rollout.

use std::sync::Arc;

use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use verbatim_events::Event;
use verbatim_process::Launcher;
use verbatim_session::Sessions;

use crate::context::Context;
use crate::{Outcome, Plan, RolloutError, Summary, Task, group, write};

/// What a rollout runs with.
pub struct Run {
    context: Arc<Context>,
    at_once: usize,
}

/// Someone who watches.
pub trait Progress {
    /// A group ended: its rows are on disk, or it was dropped.
    fn group(&mut self, outcome: &Outcome);
}

impl Run {
    /// A rollout of `plan` over `sessions`, which must be served at `server`. As many groups are
    /// under way as the limit on agents needs to be used up.
    pub fn new(plan: Plan, sessions: Sessions, launcher: Launcher, server: String) -> Self {
        let at_once = sessions.settings().agents.div_ceil(plan.group_size.max(1)).max(1) + 1;
        Self { context: Arc::new(Context { plan, sessions, launcher, server }), at_once }
    }

    /// Runs every task. Once `stop` is cancelled no group begins, those under way end, and what was
    /// finished stays on disk.
    ///
    /// # Errors
    /// [`RolloutError`] if rows cannot be written; groups under way are ended first.
    pub async fn tasks(
        &self,
        tasks: Vec<Task>,
        progress: &mut dyn Progress,
        stop: &CancellationToken,
    ) -> Result<Summary, RolloutError> {
        let plan = &self.context.plan;
        write::prepare(&plan.folder)?;
        let mut summary = Summary::default();
        // Failing to write ends the other groups as Ctrl-C would.
        let ending = stop.child_token();
        let mut groups = futures::stream::iter(tasks)
            .map(|task| {
                let (context, ending) = (Arc::clone(&self.context), ending.clone());
                async move {
                    if ending.is_cancelled() {
                        return None;
                    }
                    Some(group::rollout(&context, &task, &ending).await)
                }
            })
            .buffer_unordered(self.at_once);
        let mut failed = None;
        while let Some(outcome) = groups.next().await {
            let Some(outcome) = outcome else { continue };
            let observers = self.context.sessions.observers();
            match &outcome.dropped {
                Some(cause) => {
                    observers
                        .tell(&Event::GroupDropped { group: outcome.group.clone(), cause: cause.clone() });
                }
                None => match write::group(plan, &outcome) {
                    Ok(()) => {
                        let rows = outcome.rows.len();
                        observers.tell(&Event::GroupFinished { group: outcome.group.clone(), rows });
                    }
                    Err(error) => {
                        ending.cancel();
                        failed.get_or_insert(error);
                        continue;
                    }
                },
            }
            progress.group(&outcome);
            summary.add(&outcome);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(summary),
        }
    }
}
