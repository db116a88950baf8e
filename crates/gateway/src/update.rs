//! An update of weights, as a trainer frames it.
//!
//! The invariants: once `begin_update` has answered well nothing is sampled until `end_update`; the gate opens
//! only after every engine was told the new weights' name; one update is under way at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Deserialize;
use verbatim_engine::{Answer, EngineError, Order, PauseMode};
use verbatim_events::Event;
use verbatim_session::Running;

use crate::access::Caller;
use crate::control::{DEADLINE, go_on, ordered, reply, seconds, tell};
use crate::{ApiError, App, RolloutControl, error};

/// How often it is looked whether attempts still run.
const LOOK: Duration = Duration::from_millis(5);

type Body = Result<Bytes, BytesRejection>;

/// The update that is under way, if one is. Cheap to clone.
#[derive(Clone, Default)]
pub struct Update(Arc<Mutex<Option<PauseMode>>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weights {
    path: PathBuf,
    deadline_seconds: Option<f64>,
}

impl Update {
    fn is_under_way(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn put(&self, mode: Option<PauseMode>) -> Option<PauseMode> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), mode)
    }
}

/// `POST /control/begin_update`: with `{"mode": "abort" | "retract" | "in_place"}` (abort if it is left out)
/// the gate closes and the engines pause; agents see one slow request.
pub(crate) async fn begin(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    let asked = ordered(&app, &caller, body)?;
    let deadline = asked.deadline()?;
    let mode = asked.mode.unwrap_or_default();
    if mode == PauseMode::Drain {
        return Err(ApiError::invalid("mode", "an update takes abort, retract or in_place"));
    }
    if let Some(before) = app.update.put(Some(mode)) {
        app.update.put(Some(before));
        return Err(ApiError::update("update_under_way", "an update is under way: end it with end_update"));
    }
    app.sessions.observers().tell(&Event::UpdateBegun { mode: mode.as_str() });
    let aborts = mode == PauseMode::Abort;
    app.sessions.dispatcher().close_gate(if aborts { Running::Abort } else { Running::Keep });
    let until = Instant::now() + deadline;
    while aborts && app.sessions.dispatcher().load().0 > 0 && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
    }
    let mut answers = tell(&app, Order::Pause(mode), deadline).await;
    if aborts && app.sessions.dispatcher().load().0 == 0 {
        // Nothing is left to pause at an engine that cannot.
        answers.iter_mut().filter(|answer| is_beyond(answer)).for_each(|answer| answer.outcome = Ok(None));
    }
    Ok(reply(&app, answers))
}

/// `POST /control/end_update` with `{"version"}`: every engine is told the new weights' name and forgets what it
/// cached with the old ones (but after `in_place`), goes on, and the gate opens. If an engine does not do as it
/// is told, the update is still under way, and this can be asked again. Of a rollout, `trained` says up to which step
/// the weights have been trained; without it that is the newest step whose rows were all taken.
pub(crate) async fn end(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    let mut asked = ordered(&app, &caller, body)?;
    let deadline = asked.deadline()?;
    let version = asked.version.take().ok_or_else(|| ApiError::invalid("version", "name the new weights"))?;
    if asked.trained.is_some() && app.rollout.is_none() {
        return Err(ApiError::no_rollout());
    }
    let Some(mode) = app.update.put(None) else {
        return Err(ApiError::update("no_update", "no update is under way: begin it with begin_update"));
    };
    let flush = (mode != PauseMode::InPlace).then_some(Order::Flush);
    for order in [Order::SetVersion(version.clone())].into_iter().chain(flush) {
        let answers = tell(&app, order, deadline).await;
        if answers.iter().any(|answer| answer.outcome.is_err()) {
            app.update.put(Some(mode));
            return Ok(reply(&app, answers));
        }
    }
    app.sessions.weights_are(&version);
    app.sessions.observers().tell(&Event::UpdateEnded { version });
    if let Some(RolloutControl { rollout, .. }) = &app.rollout
        && let Some(step) = asked.trained.or(rollout.view().await.and_then(|view| view.newest_done()))
    {
        rollout.trained(step);
    }
    let answers = go_on(&app, deadline).await;
    Ok(reply(&app, answers))
}

/// `POST /control/load_weights` with `{"path"}`, within an update: every engine takes the weights in that folder, which
/// must be one that it can read. It keeps its own if it cannot.
pub(crate) async fn load_weights(
    State(app): State<App>,
    caller: Caller,
    body: Body,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Weights { path, deadline_seconds } = error::required(&body?)?;
    let deadline = seconds("deadline_seconds", deadline_seconds, DEADLINE)?;
    if !app.update.is_under_way() {
        let problem = "weights are loaded within an update: begin it with begin_update";
        return Err(ApiError::update("no_update", problem));
    }
    let answers = tell(&app, Order::LoadWeights(path), deadline).await;
    Ok(reply(&app, answers))
}

fn is_beyond(answer: &Answer) -> bool {
    matches!(answer.outcome, Err(EngineError::Unsupported { .. }))
}
