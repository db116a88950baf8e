//! One session of a group from its agent's start to its rows.

use tokio::sync::oneshot;
use verbatim_agents::{AgentFailure, Output, Seat, Told};
use verbatim_events::{Cause, Event, GroupId};
use verbatim_scheduler::{Exit, SessionId};
use verbatim_session::{OpenOptions, Session};

use crate::context::Context;
use crate::score::{Finished, Given, Identity};
use crate::{Task, contexts};

/// One session's end.
pub(crate) struct Ended {
    pub(crate) result: Result<Finished, Failed>,
    pub(crate) turns: usize,
    pub(crate) sampled_tokens: usize,
}

/// Why a session has no rows.
pub(crate) struct Failed {
    pub(crate) cause: Cause,
    pub(crate) text: String,
    /// A failure that another try may not meet.
    pub(crate) again: bool,
}

impl Ended {
    fn without_turns(cause: Cause, text: String) -> Self {
        Self { result: Err(Failed { cause, text, again: false }), turns: 0, sampled_tokens: 0 }
    }

    /// As the scheduler is told.
    pub(crate) fn exit(&self) -> Exit {
        match &self.result {
            Ok(_) => Exit::Succeeded,
            Err(failed) => Exit::Failed { again: failed.again },
        }
    }
}

/// Runs a session. Returns once its processes are gone and nothing of it is in flight.
pub(crate) async fn member(
    context: &Context,
    name: GroupId,
    seat: SessionId,
    task: &Task,
    told: oneshot::Receiver<Told>,
) -> Ended {
    let (place, attempt) = (seat.place, seat.attempt);
    let observers = context.sessions.observers();
    observers.tell(&Event::AgentStarted { group: name.clone(), place, attempt });
    let ended = session(context, &name, seat, task, told).await;
    let failed = ended.result.as_ref().err().map(|failed| failed.cause.clone());
    observers.tell(&Event::AgentEnded { group: name, place, attempt, failed });
    ended
}

async fn session(
    context: &Context,
    group: &GroupId,
    seat: SessionId,
    task: &Task,
    told: oneshot::Receiver<Told>,
) -> Ended {
    let options = OpenOptions { group: Some(group.clone()), seat: Some(seat), ..OpenOptions::default() };
    let (token, session) = match context.sessions.open(options) {
        Ok(opened) => opened,
        Err(full) => return Ended::without_turns(Cause::AgentNotRun, full.to_string()),
    };
    let place = seat.place;
    let seat = Seat {
        server: context.server.clone(),
        session: session.id().as_str().to_owned(),
        token: token.as_str().to_owned(),
        model: context.plan.model.clone(),
        mode: context.plan.mode.clone(),
        group: group.as_str().to_owned(),
    };
    let ran = context.plan.agent.run(&context.launcher, &seat, &task.input, told).await;
    // The agent's processes are gone; whatever it left in flight goes with its session.
    let _ = context.sessions.close(token.as_str()).await;
    let (turns, sampled_tokens) = session.with_forest(|forest| {
        let sampled = forest.nodes().filter_map(|(_, node)| Some(node.generation()?.sampled.len()));
        sampled.fold((0, 0), |(turns, tokens), length| (turns + 1, tokens + length))
    });
    let result = match ran {
        Ok(output) => finished(context, &session, group, task, place, output).await,
        Err(failure) => Err(failed(&failure)),
    };
    if let Err(failed) = &result {
        tracing::warn!(session = %session.id(), %group, cause = failed.cause.name(), "{}", failed.text);
        context.sessions.observers().lost(session.id(), failed.cause.clone());
    }
    Ended { result, turns, sampled_tokens }
}

/// A session whose agent ended well.
async fn finished(
    context: &Context,
    session: &Session,
    group: &GroupId,
    task: &Task,
    place: u32,
    output: Output,
) -> Result<Finished, Failed> {
    let mut rows = contexts::rows(context, session, task, &output).await?;
    let (index, size) = (task.index as u64, context.plan.group_size as u64);
    let identity = Identity { group_index: index, sample_index: index * size + u64::from(place) };
    for row in &mut rows {
        row.group_index = Some(identity.group_index);
        row.sample_index = Some(identity.sample_index);
    }
    let named = output.records.is_some();
    for unknown in output.unknown {
        let field = format!("output.{unknown}");
        context.sessions.observers().lost(session.id(), Cause::FieldIgnored { field });
    }
    let given = session.with_forest(|forest| {
        Given::of(forest, &rows, (session.id(), group, &context.plan.mode), task, output.metadata, identity)
    });
    Ok(Finished { rows, given, named })
}

fn failed(failure: &AgentFailure) -> Failed {
    let (cause, again) = match failure {
        AgentFailure::Exit { .. } | AgentFailure::Function(_) | AgentFailure::Remote(_) => {
            (Cause::AgentFailed, true)
        }
        AgentFailure::Timeout { .. } => (Cause::AgentTimeout, true),
        AgentFailure::Output(_) => (Cause::AgentOutput, true),
        AgentFailure::Cancelled => (Cause::Interrupted, false),
        AgentFailure::Process(_)
        | AgentFailure::Folder(_)
        | AgentFailure::Host(_)
        | AgentFailure::Service(_) => (Cause::AgentNotRun, true),
    };
    Failed { cause, text: failure.to_string(), again }
}
