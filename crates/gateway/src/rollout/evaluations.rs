//! Evaluations.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::steps::{Wait, waits};
use crate::access::Caller;
use crate::{ApiError, App, error};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    datasets: Option<Vec<String>>,
}

/// `POST /rollout/evaluations`, body empty or `{"datasets"}`: begins an evaluation on these datasets, or on all. 201
/// with `{"evaluation"}`, its number.
pub(crate) async fn begin(
    State(app): State<App>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let control = app.rollout(&caller)?;
    let asked: Asked = error::optional(&body?)?;
    let evaluation = control.rollout.evaluate(asked.datasets.as_deref())?;
    Ok((StatusCode::CREATED, error::json(json!({"evaluation": evaluation}))).into_response())
}

/// `GET /rollout/evaluations/{evaluation}`: `{"evaluation", "state", "datasets"}`, the last once its state is `done`
/// and not `running`; with `?wait=SECONDS` once it is done, or as it is after that time.
pub(crate) async fn show(
    State(app): State<App>,
    evaluation: Result<Path<u64>, PathRejection>,
    query: Result<Query<Wait>, QueryRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    let control = app.rollout(&caller)?;
    let Path(number) = evaluation.map_err(|error| ApiError::invalid("evaluation", error.body_text()))?;
    let Query(asked) = query.map_err(|error| ApiError::invalid("query", error.body_text()))?;
    let wait = waits("wait", asked.wait, 0.0)?;
    let rollout = &control.rollout;
    let mut report = rollout.evaluation(number).ok_or_else(|| ApiError::no_evaluation(number))?;
    if report.is_none() && !wait.is_zero() {
        report = tokio::time::timeout(wait, rollout.evaluated(number)).await.ok().flatten();
    }
    Ok(error::json(match report {
        Some(report) => json!({"evaluation": number, "state": "done", "datasets": report.datasets}),
        None => json!({"evaluation": number, "state": "running"}),
    }))
}
