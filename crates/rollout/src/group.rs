//! One group from its task to its rows.

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use verbatim_agents::{AgentFailure, Output, Seat, run};
use verbatim_events::{Cause, Event, GroupId};
use verbatim_samples::{Options, Rewards, Row, assemble};
use verbatim_session::OpenOptions;

use crate::context::Context;
use crate::{Keep, Task};

/// How a group ended.
#[derive(Debug)]
pub struct Outcome {
    /// The group.
    pub group: GroupId,
    /// Its rows; none if it was dropped.
    pub rows: Vec<Row>,
    /// Why it was dropped.
    pub dropped: Option<Cause>,
    /// What its sessions' agents said of themselves, failures as their texts.
    pub failures: Vec<String>,
    /// Sessions that were run, retries included.
    pub sessions: usize,
    /// Turns that were committed, those of failed sessions included.
    pub turns: usize,
    /// Tokens that were sampled, those of failed sessions included.
    pub sampled_tokens: usize,
}

/// One session's end.
struct Ended {
    result: Result<Vec<Row>, Failed>,
    turns: usize,
    sampled_tokens: usize,
}

struct Failed {
    cause: Cause,
    text: String,
    /// A failure that another try may not meet.
    again: bool,
}

/// Runs a group. Returns once all its processes and sessions are gone.
pub(crate) async fn rollout(context: &Context, task: &Task, stop: &CancellationToken) -> Outcome {
    let group = GroupId::new(format!("{}:{}", context.plan.mode, task.index));
    let started = Event::GroupStarted { group: group.clone(), sessions: context.plan.group_size };
    context.sessions.observers().tell(&started);
    let sessions = (0..context.plan.group_size).map(|_| member(context, &group, task, stop));
    let ended = join_all(sessions).await;
    let mut outcome = Outcome {
        group,
        rows: Vec::new(),
        dropped: None,
        failures: Vec::new(),
        sessions: 0,
        turns: 0,
        sampled_tokens: 0,
    };
    let mut succeeded = 0;
    let mut first_cause = None;
    for (at, tries) in ended.into_iter().enumerate() {
        for ended in tries {
            outcome.sessions += 1;
            outcome.turns += ended.turns;
            outcome.sampled_tokens += ended.sampled_tokens;
            match ended.result {
                Ok(rows) => {
                    succeeded += 1;
                    outcome.rows.extend(rows);
                }
                Err(failed) => {
                    outcome.failures.push(format!("session {at}: {}", failed.text));
                    first_cause.get_or_insert(failed.cause);
                }
            }
        }
    }
    let needed = match context.plan.keep {
        Keep::Whole => context.plan.group_size,
        Keep::AtLeast(least) => least.clamp(1, context.plan.group_size),
    };
    if succeeded < needed {
        outcome.rows.clear();
        outcome.dropped = Some(if stop.is_cancelled() {
            Cause::Interrupted
        } else {
            first_cause.unwrap_or(Cause::NoTurns)
        });
    }
    outcome
}

/// One place in a group: a session, and a new one for each retry.
async fn member(context: &Context, group: &GroupId, task: &Task, stop: &CancellationToken) -> Vec<Ended> {
    let mut tries = Vec::new();
    loop {
        let permit = tokio::select! {
            permit = context.sessions.dispatcher().agent() => permit,
            () = stop.cancelled() => {
                let failed = Failed { cause: Cause::Interrupted, text: "interrupted before it began".into(), again: false };
                tries.push(Ended { result: Err(failed), turns: 0, sampled_tokens: 0 });
                return tries;
            }
        };
        let ended = session(context, group, task, stop).await;
        drop(permit);
        let again = matches!(&ended.result, Err(failed) if failed.again);
        tries.push(ended);
        if !again || tries.len() > context.plan.retries as usize || stop.is_cancelled() {
            return tries;
        }
    }
}

async fn session(context: &Context, group: &GroupId, task: &Task, stop: &CancellationToken) -> Ended {
    let options = OpenOptions { group: Some(group.clone()), ..OpenOptions::default() };
    let (token, session) = match context.sessions.open(options) {
        Ok(opened) => opened,
        Err(full) => {
            let failed = Failed { cause: Cause::AgentNotRun, text: full.to_string(), again: false };
            return Ended { result: Err(failed), turns: 0, sampled_tokens: 0 };
        }
    };
    let seat = Seat {
        server: context.server.clone(),
        token: token.as_str().to_owned(),
        model: context.plan.model.clone(),
        mode: context.plan.mode.clone(),
        group: group.as_str().to_owned(),
    };
    let ran = run(&context.launcher, &context.plan.agent, &seat, &task.input, stop).await;
    // The agent's processes are gone; whatever it left in flight goes with its session.
    let _ = context.sessions.close(token.as_str()).await;
    let (turns, sampled_tokens) = session.with_forest(|forest| {
        let sampled = forest.nodes().filter_map(|(_, node)| Some(node.generation()?.sampled.len()));
        sampled.fold((0, 0), |(turns, tokens), length| (turns + 1, tokens + length))
    });
    let result = match ran {
        Ok(output) => rows(context, &session, task, output),
        Err(failure) => Err(failed(&failure)),
    };
    if let Err(failed) = &result {
        tracing::warn!(session = %session.id(), %group, cause = failed.cause.name(), "{}", failed.text);
        context.sessions.observers().lost(session.id(), failed.cause.clone());
    }
    Ended { result, turns, sampled_tokens }
}

fn rows(
    context: &Context,
    session: &verbatim_session::Session,
    task: &Task,
    output: Output,
) -> Result<Vec<Row>, Failed> {
    let mut metadata = task.input.metadata.clone();
    metadata.extend(output.metadata);
    metadata.insert("task".to_owned(), task.index.into());
    let options = Options {
        leaves: None,
        pick: context.plan.pick,
        max_seq_len: context.plan.max_seq_len,
        rewards: Rewards { session: output.reward, ..Rewards::default() },
        metadata,
    };
    for unknown in output.unknown {
        let field = format!("output.{unknown}");
        context.sessions.observers().lost(session.id(), Cause::FieldIgnored { field });
    }
    let assembled = session.with_forest(|forest| assemble(forest, session.id(), session.group(), &options));
    match assembled {
        Ok(assembly) if assembly.rows.is_empty() => {
            let text = "the agent ended without one committed turn".to_owned();
            Err(Failed { cause: Cause::NoTurns, text, again: true })
        }
        Ok(assembly) => {
            assembly.tell(session.id(), context.sessions.observers());
            Ok(assembly.rows)
        }
        Err(error) => Err(Failed { cause: Cause::RowRefused, text: error.to_string(), again: false }),
    }
}

fn failed(failure: &AgentFailure) -> Failed {
    let (cause, again) = match failure {
        AgentFailure::Exit { .. } => (Cause::AgentFailed, true),
        AgentFailure::Timeout { .. } => (Cause::AgentTimeout, true),
        AgentFailure::Output(_) => (Cause::AgentOutput, true),
        AgentFailure::Cancelled => (Cause::Interrupted, false),
        AgentFailure::Process(_) | AgentFailure::Folder(_) => (Cause::AgentNotRun, true),
    };
    Failed { cause, text: failure.to_string(), again }
}
