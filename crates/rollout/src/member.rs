//! One session of a group from its agent's start to its rows.

use std::sync::Arc;

use tokio::sync::oneshot;
use verbatim_agents::{AgentFailure, Output, Seat, Told};
use verbatim_dialects::Sampling;
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

/// What a session is run as.
pub(crate) struct Role<'a> {
    pub(crate) group: &'a GroupId,
    pub(crate) place: u32,
    pub(crate) attempt: u32,
    /// Its place in a group of the scheduler's, if that decides when it may sample.
    pub(crate) seat: Option<SessionId>,
    /// `train` or `eval`.
    pub(crate) mode: &'a str,
    /// What its turns are sampled with.
    pub(crate) pins: Option<Arc<Sampling>>,
    pub(crate) identity: Identity,
}

/// Runs a session. Returns once its processes are gone and nothing of it is in flight.
pub(crate) async fn member(
    context: &Context,
    role: Role<'_>,
    task: &Task,
    told: oneshot::Receiver<Told>,
) -> Ended {
    let (group, place, attempt) = (role.group.clone(), role.place, role.attempt);
    let observers = context.sessions.observers();
    observers.tell(&Event::AgentStarted { group: group.clone(), place, attempt });
    let ended = session(context, role, task, told).await;
    let failed = ended.result.as_ref().err().map(|failed| failed.cause.clone());
    observers.tell(&Event::AgentEnded { group, place, attempt, failed });
    ended
}

async fn session(context: &Context, role: Role<'_>, task: &Task, told: oneshot::Receiver<Told>) -> Ended {
    let group = role.group;
    let options = OpenOptions {
        group: Some(group.clone()),
        seat: role.seat,
        pins: role.pins.clone(),
        owned: true,
        ..OpenOptions::default()
    };
    let (token, session) = match context.sessions.open(options) {
        Ok(opened) => opened,
        Err(full) => return Ended::without_turns(Cause::AgentNotRun, full.to_string()),
    };
    let seat = Seat {
        server: context.server.clone(),
        session: session.id().as_str().to_owned(),
        token: token.as_str().to_owned(),
        model: context.plan.model.clone(),
        mode: role.mode.to_owned(),
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
        Ok(output) => finished(context, &session, &role, task, output).await,
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
    role: &Role<'_>,
    task: &Task,
    output: Output,
) -> Result<Finished, Failed> {
    let mut rows = contexts::rows(context, session, task, &output).await?;
    for row in &mut rows {
        row.group_index = Some(role.identity.group_index);
        row.sample_index = Some(role.identity.sample_index);
    }
    let named = output.records.is_some();
    for unknown in output.unknown {
        let field = format!("output.{unknown}");
        context.sessions.observers().lost(session.id(), Cause::FieldIgnored { field });
    }
    let of = (session.id(), role.group, role.mode);
    let given =
        session.with_forest(|forest| Given::of(forest, &rows, of, task, output.metadata, role.identity));
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
