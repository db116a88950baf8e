//! The sessions of one task of an evaluation.
//!
//! The invariant: as many results as sessions; a session that failed, or whose reward could not be had, is one.

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use verbatim_agents::Told;
use verbatim_events::{Cause, GroupId};

use super::Lane;
use crate::Task;
use crate::context::Context;
use crate::member::{Role, member};
use crate::score::{Finished, Identity};

/// One session of an evaluation.
pub(super) struct Sample {
    pub(super) turns: usize,
    pub(super) sampled_tokens: usize,
    /// Its rows with their rewards, or why it has none.
    pub(super) result: Result<Finished, Cause>,
}

/// Runs all sessions of a task.
pub(super) async fn run(
    context: &Context,
    evaluation: u64,
    lane: &Lane,
    task: &Task,
    permits: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Vec<Sample> {
    let group = GroupId::new(format!("eval:{}:{evaluation}:{}", lane.name, task.index));
    let sample = |place| one(context, lane, task, &group, place, permits, stop);
    let mut samples = join_all((0..lane.samples as u32).map(sample)).await;
    let finished: Vec<usize> = (0..samples.len()).filter(|at| samples[*at].result.is_ok()).collect();
    let taken = |at: &usize| std::mem::replace(&mut samples[*at].result, Err(Cause::RewardFailed)).ok();
    let mut rewarded: Vec<Finished> = finished.iter().filter_map(taken).collect();
    match context.scorer.rewards(&mut rewarded).await {
        Ok(()) => {
            for (at, finished) in finished.into_iter().zip(rewarded) {
                samples[at].result = Ok(finished);
            }
        }
        Err(failure) => tracing::warn!(%group, "{failure}"),
    }
    samples
}

async fn one(
    context: &Context,
    lane: &Lane,
    task: &Task,
    group: &GroupId,
    place: u32,
    permits: &Semaphore,
    stop: &CancellationToken,
) -> Sample {
    let _permit = permits.acquire().await;
    if stop.is_cancelled() {
        return Sample { turns: 0, sampled_tokens: 0, result: Err(Cause::Interrupted) };
    }
    let role = Role {
        group,
        place,
        attempt: 0,
        seat: None,
        mode: "eval",
        pins: lane.pins.clone(),
        identity: Identity::of(task.index as u64, lane.samples, place),
    };
    let (sender, told) = oneshot::channel();
    let run = member(context, role, task, told);
    tokio::pin!(run);
    let word = tokio::select! {
        ended = &mut run => return scored(context, group, ended).await,
        // No group tells its time: it counts from the start.
        () = tokio::time::sleep(context.plan.agent.time) => Told::TimeUp,
        () = stop.cancelled() => Told::End,
    };
    // An agent that has just ended needs no telling.
    let _ = sender.send(word);
    scored(context, group, run.await).await
}

async fn scored(context: &Context, group: &GroupId, ended: crate::member::Ended) -> Sample {
    let (turns, sampled_tokens) = (ended.turns, ended.sampled_tokens);
    let result = match ended.result {
        Ok(mut finished) => match context.scorer.session(&mut finished).await {
            Ok(_) => Ok(finished),
            Err(failure) => {
                tracing::warn!(%group, "{failure}");
                Err(Cause::RewardFailed)
            }
        },
        Err(failed) => Err(failed.cause),
    };
    Sample { turns, sampled_tokens, result }
}
