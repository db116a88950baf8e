//! Rewards and credit.
//!
//! The invariants: a session's reward is asked for once it has ended well, whatever its group does; a group is
//! scored once all its rewards are there; a reward that cannot be had drops its group and is never taken for 0; a
//! failed session is in nobody's list. Source of the steps and their order: Relax, "reward and credit".
//!
//! Functions are asked through a [`Source`]: a Python function, a command, or a URL. What they are given is
//! [`given`], what they may answer [`answer`].

mod answer;
mod failure;
mod given;
mod group;
mod session;
mod source;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use verbatim_process::Launcher;

pub use source::{CommandSource, Source, UrlSource};

pub(crate) use answer::number;
pub(crate) use failure::ScoreFailure;
pub(crate) use given::{Finished, Given, Identity};
pub(crate) use group::Verdict;
pub(crate) use session::keep;
pub(crate) use under_way::{UnderWay, Verdicts};

/// How sessions and groups are rewarded.
#[derive(Clone)]
pub struct Credit {
    /// Which field of a reward that is an object is the reward.
    pub key: String,
    /// The reward of a session whose agent gave none.
    pub session: Option<Source>,
    /// The rewards of a group's sessions, instead of those they have.
    pub group: Option<Source>,
    /// The advantages of a group's contexts.
    pub advantage: Option<Source>,
    /// Whether a group is kept.
    pub filter: Option<Source>,
    /// How many may be asked at once.
    pub concurrency: usize,
    /// How often one that failed is asked again.
    pub retries: u32,
    /// Before it is asked again for the first time; twice as long each time after.
    pub pause: Duration,
}

impl Default for Credit {
    fn default() -> Self {
        Self {
            key: "reward".into(),
            session: None,
            group: None,
            advantage: None,
            filter: None,
            concurrency: 64,
            retries: 2,
            pause: Duration::from_millis(500),
        }
    }
}

/// Asks for rewards and advantages, a bounded number at a time.
pub(crate) struct Scorer {
    credit: Credit,
    launcher: Launcher,
    /// Of a rollout for training; one that only evaluates has neither advantages nor a filter.
    trains: bool,
    permits: Arc<Semaphore>,
}

impl Scorer {
    pub(crate) fn new(credit: Credit, launcher: Launcher, trains: bool) -> Self {
        let permits = Arc::new(Semaphore::new(credit.concurrency.max(1)));
        Self { credit, launcher, trains, permits }
    }

    /// Which field of a reward that is an object is the reward.
    pub(crate) fn key(&self) -> &str {
        &self.credit.key
    }

    /// Asks, again if that fails, and says how often. `read` makes the answer what it should be; an answer that it
    /// refuses is not asked for again.
    async fn ask<T>(
        &self,
        what: &'static str,
        source: &Source,
        value: Value,
        read: impl FnOnce(Value) -> Result<T, String>,
    ) -> Result<(T, u32), ScoreFailure> {
        let mut pause = self.credit.pause;
        let mut attempts = 1;
        let answer = loop {
            let permit = self.permits.acquire().await;
            let asked = source.ask(&self.launcher, value.clone()).await;
            drop(permit);
            match asked {
                Ok(answer) => break answer,
                Err(failure) if failure.passes && attempts <= self.credit.retries => {
                    tracing::warn!(what, attempts, "{}; it is asked again", failure.problem);
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2);
                    attempts += 1;
                }
                Err(failure) => return Err(ScoreFailure { what, problem: failure.problem }),
            }
        };
        read(answer).map(|read| (read, attempts)).map_err(|problem| ScoreFailure { what, problem })
    }
}
