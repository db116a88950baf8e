//! Steps.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::access::Caller;
use crate::{ApiError, App, error};

/// The longest that a request waits for something to happen.
pub(super) const LONGEST: f64 = 300.0;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    groups: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub(super) wait: Option<f64>,
}

/// Seconds to wait, as a query has them.
pub(super) fn waits(field: &str, asked: Option<f64>, usual: f64) -> Result<Duration, ApiError> {
    let seconds = asked.unwrap_or(usual);
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(ApiError::invalid(field, format!("{seconds} is not between 0 and {LONGEST} seconds")));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// `GET /rollout`: the rollout as it is.
pub(crate) async fn view(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    let view = app.rollout(&caller)?.rollout.view().await.ok_or_else(ApiError::rollout_stopped)?;
    Ok(error::json(view))
}

/// `POST /rollout/steps`, body empty or `{"groups"}`: opens the next step. 201 with `{"step"}`; 409 while another one
/// is not over, and once the rollout is.
pub(crate) async fn open(
    State(app): State<App>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let control = app.rollout(&caller)?;
    let asked: Open = error::optional(&body?)?;
    let step = control.rollout.open(asked.groups).await?;
    Ok((StatusCode::CREATED, error::json(json!({"step": step}))).into_response())
}

/// `GET /rollout/steps/{step}`: the step; with `?wait=SECONDS` once it is done, or as it is after that time.
pub(crate) async fn show(
    State(app): State<App>,
    step: Result<Path<u64>, PathRejection>,
    query: Result<Query<Wait>, QueryRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    let control = app.rollout(&caller)?;
    let Path(step) = step.map_err(|error| ApiError::invalid("step", error.body_text()))?;
    let Query(asked) = query.map_err(|error| ApiError::invalid("query", error.body_text()))?;
    let wait = waits("wait", asked.wait, 0.0)?;
    let known = control.rollout.step(step).await.ok_or_else(|| ApiError::no_step(step))?;
    if wait.is_zero() {
        return Ok(error::json(known));
    }
    let done = tokio::time::timeout(wait, control.rollout.done(step)).await;
    let view = match done {
        Ok(view) => view,
        Err(_) => control.rollout.step(step).await,
    };
    Ok(error::json(view.ok_or_else(ApiError::rollout_stopped)?))
}

/// `POST /rollout/drain`: no group begins any more, and those that no step has taken are dropped. Answers at once;
/// `GET /rollout` says when it is over.
pub(crate) async fn drain(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    app.rollout(&caller)?.rollout.drain();
    Ok(StatusCode::ACCEPTED.into_response())
}
