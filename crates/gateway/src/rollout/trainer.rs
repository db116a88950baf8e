//! What the trainer says of its own work.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use verbatim_events::{Event, OptimizerStep};
use verbatim_tokens::Version;

use crate::access::Caller;
use crate::{ApiError, App, error};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    step: u64,
    rows: u64,
    version: Version,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    metrics: Map<String, Value>,
}

/// `POST /rollout/optimizer_step` with `{"step", "rows", "version"}`, and if the trainer likes `groups` and `metrics`:
/// goes into the event log as it is. `version` names the weights that the step made.
pub(crate) async fn optimizer_step(
    State(app): State<App>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let control = app.rollout(&caller)?;
    let Told { step, rows, version, groups, metrics } = error::required(&body?)?;
    if control.rollout.step(step).await.is_none() {
        return Err(ApiError::no_step(step));
    }
    if let Some((name, value)) = metrics.iter().find(|(_, value)| !value.is_number()) {
        return Err(ApiError::invalid(&format!("metrics.{name}"), format!("{value} is not a number")));
    }
    let told = OptimizerStep { step, rows, version, groups, metrics };
    app.sessions.observers().tell(&Event::OptimizerStep(Box::new(told)));
    Ok(StatusCode::NO_CONTENT.into_response())
}
