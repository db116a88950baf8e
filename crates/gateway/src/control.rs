//! The gate, and the engines behind it.
//!
//! The invariant: the gate closes before any engine is told to pause, and opens only after every engine
//! was told to go on, so that no request waits inside a paused engine.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use verbatim_engine::{Answer, Fleet, Order, PauseMode, give};
use verbatim_session::Running;
use verbatim_tokens::Version;

use crate::access::Caller;
use crate::{ApiError, App, error};

/// How long an engine has to answer an order, unless the request says otherwise.
pub(crate) const DEADLINE: f64 = 60.0;

type Body = Result<Bytes, BytesRejection>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ordered {
    /// How engines are paused; without it they are not.
    pub(crate) mode: Option<PauseMode>,
    /// A version to name the present weights by.
    pub(crate) version: Option<Version>,
    /// Of an update's end: the step up to which the new weights have been trained.
    pub(crate) trained: Option<u64>,
    /// Seconds that each engine has.
    deadline_seconds: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    url: String,
    /// Seconds that its attempts have to end by themselves.
    drain_seconds: Option<f64>,
}

/// What one engine answered.
#[derive(Serialize)]
struct Told {
    engine: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    took_ms: u64,
}

impl Ordered {
    pub(crate) fn deadline(&self) -> Result<Duration, ApiError> {
        seconds("deadline_seconds", self.deadline_seconds, DEADLINE)
    }
}

/// An order, from who may give one.
pub(crate) fn ordered(app: &App, caller: &Caller, body: Body) -> Result<Ordered, ApiError> {
    app.controlled(caller)?;
    error::optional(&body?)
}

pub(crate) fn seconds(field: &str, asked: Option<f64>, usual: f64) -> Result<Duration, ApiError> {
    Duration::try_from_secs_f64(asked.unwrap_or(usual)).map_err(|error| ApiError::invalid(field, error))
}

/// `POST /control/pause`: no attempt starts. Without a body running ones are aborted and their turns
/// held. With `{"mode": "abort" | "retract" | "in_place" | "drain"}` the engines are paused too, in
/// that mode.
pub(crate) async fn pause(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    let asked = ordered(&app, &caller, body)?;
    let running = match asked.mode {
        None | Some(PauseMode::Abort) => Running::Abort,
        Some(PauseMode::Retract | PauseMode::InPlace | PauseMode::Drain) => Running::Keep,
    };
    app.sessions.dispatcher().close_gate(running);
    let answers = match asked.mode {
        Some(mode) => tell(&app, Order::Pause(mode), asked.deadline()?).await,
        None => Vec::new(),
    };
    Ok(reply(&app, answers))
}

/// `POST /control/resume`: engines that were paused go on, then held turns do.
pub(crate) async fn resume(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    let asked = ordered(&app, &caller, body)?;
    let answers = go_on(&app, asked.deadline()?).await;
    Ok(reply(&app, answers))
}

/// Tells engines that were paused to go on, and opens the gate if one of them does.
pub(crate) async fn go_on(app: &App, deadline: Duration) -> Vec<Answer> {
    let paused = app.sessions.engine().fleet().is_some_and(|fleet| {
        fleet.members().iter().any(|member| member.health == verbatim_engine::Health::Paused)
    });
    let answers = match paused {
        true => tell(app, Order::Resume, deadline).await,
        false => Vec::new(),
    };
    // One engine that goes on is enough: the pool sends nothing to those that did not.
    if answers.is_empty() || answers.iter().any(|answer| answer.outcome.is_ok()) {
        app.sessions.dispatcher().open_gate();
    }
    answers
}

/// `POST /control/flush`: every engine forgets its cached prefixes.
pub(crate) async fn flush(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    let asked = ordered(&app, &caller, body)?;
    let answers = tell(&app, Order::Flush, asked.deadline()?).await;
    Ok(reply(&app, answers))
}

/// `POST /control/version`: with `{"version"}` every engine is told the name of its present weights;
/// without, each says it.
pub(crate) async fn version(
    State(app): State<App>,
    caller: Caller,
    body: Body,
) -> Result<Response, ApiError> {
    let mut asked = ordered(&app, &caller, body)?;
    let deadline = asked.deadline()?;
    let order = asked.version.take().map_or(Order::Version, Order::SetVersion);
    let answers = tell(&app, order, deadline).await;
    Ok(reply(&app, answers))
}

/// `GET /control/engines`: the engines as they are known now.
pub(crate) async fn engines(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let members = app.sessions.engine().fleet().map(|fleet| fleet.members()).unwrap_or_default();
    Ok(error::json(json!({"engines": members})))
}

/// `POST /control/engines`: `{"url"}` joins.
pub(crate) async fn add(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Member { url, .. } = error::required(&body?)?;
    fleet(&app)?.add(url).await?;
    engines(State(app), caller).await
}

/// `DELETE /control/engines`: `{"url", "drain_seconds"}` leaves, once its attempts have ended or the
/// seconds are over; what still runs then goes on elsewhere.
pub(crate) async fn remove(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Member { url, drain_seconds } = error::required(&body?)?;
    fleet(&app)?.remove(url, seconds("drain_seconds", drain_seconds, DEADLINE)?).await?;
    engines(State(app), caller).await
}

fn fleet(app: &App) -> Result<&dyn Fleet, ApiError> {
    app.sessions.engine().fleet().ok_or_else(|| {
        ApiError::invalid(
            "url",
            "this server's engine is in its own process; start it with --url to serve on others",
        )
    })
}

/// Gives an order to every engine.
pub(crate) async fn tell(app: &App, order: Order, deadline: Duration) -> Vec<Answer> {
    let engine = app.sessions.engine();
    match (engine.fleet(), engine.control()) {
        (Some(fleet), _) => fleet.tell(order, deadline).await,
        (None, Some(control)) => {
            vec![give(engine.capabilities().engine.clone(), control, &order, deadline).await]
        }
        (None, None) => Vec::new(),
    }
}

/// What is under way, and what the engines answered: 502 if one of them did not do as it was told.
pub(crate) fn reply(app: &App, answers: Vec<Answer>) -> Response {
    let (running, waiting) = app.sessions.dispatcher().load();
    let told = |answer: Answer| {
        let (ok, error, version) = match answer.outcome {
            Ok(version) => (true, None, version),
            Err(error) => (false, Some(error.to_string()), None),
        };
        Told { engine: answer.engine, ok, error, version, took_ms: answer.took.as_millis() as u64 }
    };
    let engines: Vec<Told> = answers.into_iter().map(told).collect();
    let status = if engines.iter().all(|told| told.ok) { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
    (status, error::json(json!({"running": running, "waiting": waiting, "engines": engines}))).into_response()
}
