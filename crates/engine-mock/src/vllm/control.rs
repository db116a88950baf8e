//! vLLM's control plane: pause, abort, versions, caches. Not guarded by the key.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error;
use crate::answer::json as respond;
use crate::call::Call;
use crate::pause::Gate;

/// How long a pause waits for what runs.
const DRAIN: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(2);

pub(super) async fn pause(call: Call) -> Response {
    let clear = call.seen.parameter("clear_cache").is_none_or(|clear| clear != "false");
    let runs = &call.shared.runs;
    let (gate, abort) = match call.seen.parameter("mode").unwrap_or("abort") {
        "abort" => (Gate::Drained, true),
        "wait" => (Gate::Drained, false),
        // Clearing the cache preempts what runs: it is read again with the new weights.
        "keep" if clear => (Gate::Retracted, false),
        "keep" => (Gate::Frozen, false),
        other => return error(400, &format!("Input should be 'abort', 'wait' or 'keep', not '{other}'")),
    };
    call.shared.gate.send_replace(gate);
    let begun = Instant::now();
    while gate == Gate::Drained && runs.dispatched() > 0 && begun.elapsed() < DRAIN {
        if abort {
            runs.abort_all();
        }
        tokio::time::sleep(LOOK).await;
    }
    respond(200, json!({ "status": "paused" }))
}

pub(super) async fn resume(call: Call) -> Response {
    call.shared.gate.send_replace(Gate::Open);
    respond(200, json!({ "status": "resumed" }))
}

pub(super) async fn is_paused(call: Call) -> Response {
    respond(200, json!({ "is_paused": call.shared.paused() }))
}

/// Of the control plane: no list is everything.
pub(super) async fn abort(call: Call) -> Response {
    let names = names(&call.seen.json());
    let aborted = match &names {
        Some(names) if !names.is_empty() => call.shared.runs.abort_exactly(names),
        _ => call.shared.runs.abort_all(),
    };
    respond(200, json!({ "status": "aborted", "aborted": aborted }))
}

/// Of the tokens API: the list is required, names are the external ones.
pub(super) async fn abort_known(call: Call) -> Response {
    match names(&call.seen.json()) {
        Some(names) => {
            call.shared.runs.abort_exactly(&names);
            StatusCode::OK.into_response()
        }
        None => error(400, "Missing 'request_ids' in request body"),
    }
}

fn names(body: &Value) -> Option<Vec<String>> {
    let list = body["request_ids"].as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect())
}

pub(super) async fn weight_info(call: Call) -> Response {
    respond(200, json!({ "weight_version": call.shared.live_version().await }))
}

pub(super) async fn update_version(call: Call) -> Response {
    let body = call.seen.json();
    match body["new_version"].as_str() {
        Some(version) => {
            call.shared.set_version(version);
            respond(200, json!({ "success": true, "new_version": version }))
        }
        None => respond(400, json!({ "error": "Missing 'new_version' in request body" })),
    }
}

pub(super) async fn finish_update(call: Call) -> Response {
    if let Some(version) = call.seen.json()["weight_version"].as_str() {
        call.shared.set_version(version);
    }
    ok(call).await
}

pub(super) async fn ok(_: Call) -> Response {
    respond(200, json!({ "message": "ok" }))
}

pub(super) async fn reset(call: Call) -> Response {
    let flushed = match call.shared.engine.control() {
        Some(control) => control.flush().await.is_ok(),
        None => true,
    };
    let running = call.seen.parameter("reset_running_requests").is_some_and(|reset| reset == "true");
    let idle = call.shared.paused() || call.shared.runs.dispatched() == 0;
    respond(200, json!({ "success": flushed && (running || idle) }))
}
