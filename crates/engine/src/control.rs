//! What an engine can do besides generating.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use verbatim_tokens::{TokenId, Version};

use crate::{EngineError, SessionKey};

/// An engine's control plane.
///
/// What an engine does not have is [`EngineError::Unsupported`], never silence.
pub trait Control: Send + Sync {
    /// The policy version that would sample the next token; `None` if the engine has no such notion.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be asked.
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>>;

    /// Gives the present weights another name. Nothing is aborted.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told.
    fn set_version(&self, _version: Version) -> BoxFuture<'_, Result<(), EngineError>> {
        unsupported("be given a weight version")
    }

    /// Forgets every cached prefix, as after a change of weights.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told, or could not because requests run.
    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// A session is over: what is cached of it may go before anything else.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told.
    fn close_session(&self, _session: &SessionKey) -> BoxFuture<'_, Result<(), EngineError>> {
        unsupported("be told that a session is over")
    }

    /// Takes the weights in a Hugging Face folder that the engine can read, in place of its own; their shapes must
    /// be the same. What is cached is forgotten. Requests that run may be aborted.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if the folder holds no such weights; the engine keeps its own then.
    fn load_weights(&self, _folder: &Path) -> BoxFuture<'_, Result<(), EngineError>> {
        unsupported("load weights from a folder")
    }

    /// Stops sampling. Returns once no token is sampled any more.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told.
    fn pause(&self, _mode: PauseMode) -> BoxFuture<'_, Result<(), EngineError>> {
        unsupported("pause")
    }

    /// Goes on.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be told.
    fn resume(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        unsupported("resume")
    }

    /// Whether new work would be taken. A paused engine is [`Health::Paused`], not down.
    fn health(&self) -> BoxFuture<'_, Health> {
        futures::future::ready(Health::Ready).boxed()
    }

    /// What the engine has to do, by its own count.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot be asked.
    fn load(&self) -> BoxFuture<'_, Result<Load, EngineError>> {
        unsupported("tell its load")
    }
}

fn unsupported<T: Send + 'static>(what: &'static str) -> BoxFuture<'static, Result<T, EngineError>> {
    futures::future::ready(Err(EngineError::Unsupported { what })).boxed()
}

/// What becomes of what runs while an engine pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseMode {
    /// It is aborted; its tokens so far are kept and its turn goes on in another attempt.
    #[default]
    Abort,
    /// It is put back; its cache is computed again, with the weights of then.
    Retract,
    /// It is frozen; its cache stays, computed with the weights of before.
    InPlace,
    /// It runs to its end; nothing new begins.
    Drain,
}

impl PauseMode {
    /// Its name, as on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "abort",
            Self::Retract => "retract",
            Self::InPlace => "in_place",
            Self::Drain => "drain",
        }
    }
}

/// Whether an engine takes work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "health")]
pub enum Health {
    /// Yes.
    Ready,
    /// Not now: it was told to pause.
    Paused,
    /// Not yet: it loads.
    Starting,
    /// No.
    Down {
        /// What was seen.
        reason: String,
    },
}

/// An engine's own count of its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Requests that run.
    pub running: u32,
    /// Requests that wait.
    pub waiting: u32,
    /// The used share of its cache, in [0, 1], if it says.
    pub cache: Option<f32>,
}

/// One order for every engine of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// [`Control::pause`].
    Pause(PauseMode),
    /// [`Control::resume`].
    Resume,
    /// [`Control::flush`].
    Flush,
    /// [`Control::version`].
    Version,
    /// [`Control::set_version`].
    SetVersion(Version),
    /// [`Control::load_weights`].
    LoadWeights(PathBuf),
    /// [`Control::close_session`].
    CloseSession(SessionKey),
}

/// What one engine made of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which engine.
    pub engine: String,
    /// What it said: a version for [`Order::Version`], else `None`.
    pub outcome: Result<Option<Version>, EngineError>,
    /// How long it took.
    pub took: Duration,
}

/// Gives one order to one engine, which has `deadline` to answer.
pub async fn give(engine: String, control: &dyn Control, order: &Order, deadline: Duration) -> Answer {
    let began = std::time::Instant::now();
    let answer = async {
        match order {
            Order::Pause(mode) => control.pause(*mode).await.map(|()| None),
            Order::Resume => control.resume().await.map(|()| None),
            Order::Flush => control.flush().await.map(|()| None),
            Order::Version => control.version().await,
            Order::SetVersion(version) => control.set_version(version.clone()).await.map(|()| None),
            Order::CloseSession(session) => control.close_session(session).await.map(|()| None),
            Order::LoadWeights(folder) => control.load_weights(folder).await.map(|()| None),
        }
    };
    let outcome = tokio::time::timeout(deadline, answer).await.unwrap_or_else(|_| {
        let reason = format!("no answer within {} s", deadline.as_secs_f32());
        Err(EngineError::Unavailable { reason })
    });
    Answer { engine, outcome, took: began.elapsed() }
}

/// An engine that scores given ids.
pub trait Score: Send + Sync {
    /// The raw log-softmax of each id after those before it: as many values as ids. The first one is
    /// `None`, since nothing precedes it; those before `from` may be, because nobody asks for them.
    ///
    /// # Errors
    /// [`EngineError`] if the ids do not fit or the engine fails.
    fn score(&self, ids: Vec<TokenId>, from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>>;
}
