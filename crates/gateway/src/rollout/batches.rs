//! Rows that a trainer comes for.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Map;
use verbatim_rollout::{Acknowledged, Delivery, Pull};
use verbatim_samples::{Envelope, Format, write_safetensors};

use super::steps::waits;
use crate::access::Caller;
use crate::{ApiError, App};

/// Seconds that whoever takes a batch has to acknowledge it.
const LEND: f64 = 120.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    step: Option<u64>,
    wait: Option<f64>,
    lend: Option<f64>,
    format: Option<String>,
}

/// `GET /rollout/batches`: the next group's rows as a file of `?format=` (`safetensors`, `parquet` or `jsonl`), of
/// `?step=` if it is given. Waits `?wait=` seconds for one, or until that step is done, then 204. Headers `x-verbatim-batch` (what it is
/// acknowledged by), `-step`, `-group`, `-rows`, `-is-last`, `-deliveries` say what it is. Unless it is acknowledged
/// within `?lend=` seconds it is given out again.
pub(crate) async fn next(
    State(app): State<App>,
    query: Result<Query<Asked>, QueryRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    let pull = pull(&app, &caller)?;
    let Query(asked) = query.map_err(|error| ApiError::invalid("query", error.body_text()))?;
    let (wait, lend) = (waits("wait", asked.wait, 0.0)?, waits("lend", asked.lend, LEND)?);
    let format = match asked.format.as_deref() {
        None => Format::Safetensors,
        Some(name) => Format::of(&format!(".{name}")).map_err(|error| ApiError::invalid("format", error))?,
    };
    let rollout = &app.rollout(&caller)?.rollout;
    let done = async {
        match asked.step {
            Some(step) => rollout.done(step).await,
            None => std::future::pending().await,
        }
    };
    // A step that is done has nothing to give, and gets nothing any more: nobody waits for it.
    let delivery = tokio::select! {
        delivery = pull.next(asked.step, wait, lend) => delivery,
        _ = done => None,
    };
    let Some(delivery) = delivery else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let said = headers(&delivery);
    // Linear in tokens: off the threads that serve requests.
    let bytes = tokio::task::spawn_blocking(move || file(&app, format, &delivery));
    let bytes = bytes.await.map_err(|_| ApiError::internal())??;
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))];
    Ok((kind, said, bytes).into_response())
}

/// `POST /rollout/batches/{batch}/ack`: the rows are kept; they are not given out again. 204, also if that was said
/// before.
pub(crate) async fn acknowledge(
    State(app): State<App>,
    batch: Result<Path<u64>, PathRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    let pull = pull(&app, &caller)?;
    let Path(batch) = batch.map_err(|error| ApiError::invalid("batch", error.body_text()))?;
    match pull.acknowledge(batch).await.map_err(ApiError::unkept)? {
        Acknowledged::Now | Acknowledged::Before => Ok(StatusCode::NO_CONTENT.into_response()),
        Acknowledged::Unknown => Err(ApiError::no_batch(batch)),
    }
}

fn pull<'a>(app: &'a App, caller: &Caller) -> Result<&'a Pull, ApiError> {
    app.rollout(caller)?.pull.as_ref().ok_or_else(ApiError::not_pulled)
}

fn headers(delivery: &Delivery) -> [(HeaderName, HeaderValue); 6] {
    let batch = &delivery.batch;
    let text = |value: String| HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("?"));
    [
        ("x-verbatim-batch", text(delivery.id.to_string())),
        ("x-verbatim-step", text(batch.step.to_string())),
        ("x-verbatim-group", text(batch.group.as_str().to_owned())),
        ("x-verbatim-rows", text(batch.rows.len().to_string())),
        ("x-verbatim-is-last", text(batch.is_last.to_string())),
        ("x-verbatim-deliveries", text((delivery.before + 1).to_string())),
    ]
    .map(|(name, value)| (HeaderName::from_static(name), value))
}

fn file(app: &App, format: Format, delivery: &Delivery) -> Result<Vec<u8>, ApiError> {
    let rows = &delivery.batch.rows;
    Ok(match format {
        Format::Safetensors => {
            let tokenizer = app.sessions.family().tokenizer();
            let envelope = Envelope { session_metadata: Map::new(), empty: None };
            write_safetensors(rows, &envelope, |ids| tokenizer.text(ids))?
        }
        format => format.write(rows)?,
    })
}
