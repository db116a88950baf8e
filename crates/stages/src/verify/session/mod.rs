//! Is what sessions keep what their family renders, turn by turn, at a live engine?
//!
//! A scripted tool agent takes a schedule of turns over HTTP (reference: Miles §8). After each turn
//! the session's ids are compared with a new render of its messages. The invariant: what is judged is
//! what the server under test kept, and what the agent did is all in the report.

mod agent;
mod judge;
mod plan;
mod report;

use std::collections::BTreeSet;

use verbatim_audit::{Comparator, Finding};
use verbatim_session::Sessions;

use agent::Agent;
use judge::judge;

pub use agent::AgentError;
pub use plan::{Plan, Roles, Step};
pub use report::{SessionReport, SessionRun, TurnRun};

/// Runs `plan.sessions` sessions, one after another, against the server at `url` whose sessions these
/// are.
///
/// # Errors
/// [`AgentError`] if a session cannot even be opened; what goes wrong later is in the report.
pub async fn session(sessions: &Sessions, url: &str, plan: &Plan) -> Result<SessionReport, AgentError> {
    let comparator = Comparator::of(sessions.family().as_ref());
    let roles = Roles::of(sessions.family().as_ref());
    let mut runs = Vec::new();
    for number in 0..plan.sessions {
        runs.push(one(sessions, url, plan, &roles, &comparator, number).await?);
    }
    let capabilities = sessions.engine().capabilities();
    Ok(SessionReport::new(sessions.family().name(), capabilities, roles, runs, plan))
}

async fn one(
    sessions: &Sessions,
    url: &str,
    plan: &Plan,
    roles: &Roles,
    comparator: &Comparator,
    number: usize,
) -> Result<SessionRun, AgentError> {
    let mut agent = Agent::open(url, plan, roles, number).await?;
    let mut run = SessionRun::default();
    let mut known: BTreeSet<(i64, String, String)> = BTreeSet::new();
    for step in plan.steps(roles) {
        let reply = match agent.take(step).await {
            Ok(reply) => reply,
            Err(error) => {
                run.failed = Some(format!("{}: {error}", step.name()));
                break;
            }
        };
        let kept =
            sessions.get(agent.token()).ok().map(|session| judge(sessions, &session, comparator, &reply.id));
        let judged = match kept {
            Some(Ok(judged)) => judged,
            Some(Err(reason)) => {
                run.failed = Some(format!("{}: {reason}", step.name()));
                break;
            }
            None => {
                run.failed = Some(format!("{}: the session is gone", step.name()));
                break;
            }
        };
        let cut = reply.finish == "length";
        // What a turn inherits was reported where it came in.
        let new = |found: &Finding| {
            let found = &found.mismatch;
            known.insert((found.segment_index, found.expected_text.clone(), found.actual_text.clone()))
        };
        // A turn that was cut has no end, and whatever it had opened is open: no render is its own.
        let findings = judged.findings.into_iter().filter(|_| !cut).filter(new).collect();
        run.turns.push(TurnRun {
            step,
            tokens: judged.tokens,
            finish: reply.finish,
            calls: reply.calls,
            findings,
        });
        if cut {
            // A turn that was cut cannot be gone on from.
            run.cut = true;
            break;
        }
    }
    agent.close().await;
    Ok(run)
}
