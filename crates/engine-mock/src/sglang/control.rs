//! SGLang's control plane: abort, pause, caches, weights.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::flat;
use crate::answer::json as respond;
use crate::call::Call;
use crate::pause::Gate;
use crate::runs::Stage;

/// How long a pause that aborts waits for what it aborted.
const DRAIN: Duration = Duration::from_secs(5);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(2);

pub(super) async fn abort(call: Call) -> Response {
    let body = call.seen.json();
    if body["abort_all"].as_bool().unwrap_or_default() {
        call.shared.runs.abort_all();
    } else if let Some(rid) = body["rid"].as_str() {
        call.shared.runs.abort_prefix(rid);
    }
    StatusCode::OK.into_response()
}

pub(super) async fn pause(call: Call) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&call.seen.body) else {
        return flat(400, "Field required");
    };
    let gate = match body["mode"].as_str().unwrap_or("abort") {
        "abort" => Gate::Drained,
        "retract" => Gate::Retracted,
        "in_place" => Gate::Frozen,
        other => return flat(400, &format!("mode must be abort, retract or in_place, not {other}")),
    };
    call.shared.gate.send_replace(gate);
    if gate == Gate::Drained {
        let begun = Instant::now();
        while call.shared.runs.dispatched() > 0 && begun.elapsed() < DRAIN {
            call.shared.runs.abort_all();
            tokio::time::sleep(LOOK).await;
        }
    }
    respond(200, json!({ "message": "Generation paused successfully.", "status": "ok" }))
}

pub(super) async fn resume(call: Call) -> Response {
    call.shared.gate.send_replace(Gate::Open);
    respond(200, json!({ "message": "Generation continued successfully.", "status": "ok" }))
}

pub(super) async fn flush(call: Call) -> Response {
    let timeout = call.seen.parameter("timeout").and_then(|seconds| seconds.parse().ok());
    let wait = Duration::try_from_secs_f64(timeout.unwrap_or_default()).unwrap_or_default();
    let begun = Instant::now();
    // While paused, what waits does not count; it did in 0.5.17.
    let busy = || {
        let runs = &call.shared.runs;
        let parked = call.shared.paused() && !call.shared.options.legacy;
        if parked { runs.count(Stage::Running) } else { runs.dispatched() }
    };
    while busy() > 0 {
        if begun.elapsed() >= wait {
            let words = if call.shared.options.legacy {
                "Flush cache failed.\n"
            } else if wait.is_zero() {
                "Flush cache failed: there are pending requests."
            } else {
                "Timed out waiting for idle state."
            };
            return (StatusCode::BAD_REQUEST, words).into_response();
        }
        tokio::time::sleep(LOOK).await;
    }
    if let Some(control) = call.shared.engine.control()
        && let Err(error) = control.flush().await
    {
        return (StatusCode::BAD_REQUEST, error.to_string()).into_response();
    }
    "Cache flushed.\n".into_response()
}

/// Aborts everything unless told otherwise.
pub(super) async fn update_version(call: Call) -> Response {
    let body = call.seen.json();
    let Some(version) = body["new_version"].as_str() else {
        return flat(400, "new_version: Field required");
    };
    if body["abort_all_requests"].as_bool().unwrap_or(true) {
        call.shared.runs.abort_all();
    }
    call.shared.set_version(version);
    let message = format!("Weight version updated to {version}");
    respond(200, json!({ "success": true, "message": message, "new_version": version }))
}

/// The served model is afterwards named by the path.
pub(super) async fn update_from_disk(call: Call) -> Response {
    let body = call.seen.json();
    let Some(path) = body["model_path"].as_str() else {
        return flat(400, "model_path: Field required");
    };
    if body["abort_all_requests"].as_bool().unwrap_or_default() {
        call.shared.runs.abort_all();
    }
    // Without a pause it waits for what runs.
    while !call.shared.paused() && call.shared.runs.dispatched() > 0 {
        tokio::time::sleep(LOOK).await;
    }
    call.shared.set_model(path);
    take_version(&call, &body);
    let message = "Succeeded to update model weights.";
    respond(200, json!({ "success": true, "message": message, "num_paused_requests": 0 }))
}

pub(super) async fn begin(call: Call) -> Response {
    call.shared.updating.store(true, Ordering::Relaxed);
    succeed(call).await
}

pub(super) async fn end(call: Call) -> Response {
    if !call.shared.updating.swap(false, Ordering::Relaxed) {
        return respond(400, json!({ "success": false, "message": "No weight update session is active." }));
    }
    succeed(call).await
}

/// Only within a session.
pub(super) async fn update_in_session(call: Call) -> Response {
    if !call.shared.updating.load(Ordering::Relaxed) {
        return respond(400, json!({ "success": false, "message": "No weight update session is active." }));
    }
    let body = call.seen.json();
    if body["abort_all_requests"].as_bool().unwrap_or_default() {
        call.shared.runs.abort_all();
    }
    take_version(&call, &body);
    succeed(call).await
}

pub(super) async fn succeed(_: Call) -> Response {
    respond(200, json!({ "success": true, "message": "Success." }))
}

pub(super) async fn nothing(_: Call) -> Response {
    respond(200, Value::Null)
}

fn take_version(call: &Call, body: &Value) {
    if let Some(version) = body["weight_version"].as_str() {
        call.shared.set_version(version);
    }
}
