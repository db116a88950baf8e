//! What SGLang says of itself.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::answer::json as respond;
use crate::call::Call;
use crate::runs::Stage;

pub(super) async fn model(call: Call) -> Response {
    let options = &call.shared.options;
    respond(
        200,
        json!({
            "model_path": call.shared.model(), "served_model_name": call.shared.model(),
            "tokenizer_path": options.model,
            "is_generation": true, "preferred_sampling_params": null,
            "weight_version": call.shared.live_version().await,
            "load_format": "auto", "reasoning_parser": null, "tool_call_parser": null,
            "disaggregation_mode": "null",
            "has_image_understanding": options.images.is_some(), "has_audio_understanding": false,
            "model_type": "mock", "architectures": ["MockForCausalLM"],
        }),
    )
}

/// Values of the start: the weight version goes stale.
pub(super) async fn server(call: Call) -> Response {
    let options = &call.shared.options;
    // It goes stale, except in 0.5.17.
    let version = match options.legacy {
        true => call.shared.live_version().await,
        false => options.weight_version.clone().unwrap_or_else(|| "default".into()),
    };
    let mut body = json!({
            "version": options.version, "startup_time": 0.0,
            "model_path": options.model, "served_model_name": options.model,
            "tokenizer_path": options.model,
            // Null unless the flag was given, as seen; `/v1/models` has it as `max_model_len`.
            "context_length": options.context,
            "max_req_input_len": call.shared.context().saturating_sub(6),
            "max_total_num_tokens": 1 << 20,
            "incremental_streaming_output": options.incremental,
            "skip_tokenizer_init": options.decode.is_none(),
            "enable_return_routed_experts": options.experts.is_some(),
            "enable_return_indexer_topk": options.indexer.is_some(),
            "weight_version": version,
            "dp_size": 1, "tp_size": 1, "stream_interval": 1,
            "enable_priority_scheduling": false, "enable_lora": !options.adapters.is_empty(),
            "enable_deterministic_inference": false,
            "internal_states": [], "kv_events": null,
    });
    if !options.legacy {
        body["launch_command"] = "sglang.launch_server".into();
    }
    respond(200, body)
}

/// A deep check: one token through the engine, which waits behind a pause.
pub(super) async fn health(call: Call) -> Response {
    let passed = tokio::time::timeout(call.shared.options.health_wait, call.shared.opened()).await.is_ok();
    if !passed {
        call.shared.healthy.store(false, Ordering::Relaxed);
    } else if !call.shared.broken.load(Ordering::Relaxed) {
        call.shared.healthy.store(true, Ordering::Relaxed);
    }
    state(call.shared.healthy.load(Ordering::Relaxed))
}

pub(super) async fn ready(call: Call) -> Response {
    if call.shared.options.legacy {
        return respond(404, json!({ "detail": "Not Found" }));
    }
    state(!call.shared.paused() && call.shared.healthy.load(Ordering::Relaxed))
}

fn state(good: bool) -> Response {
    if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }.into_response()
}

/// The older form.
pub(super) async fn load(call: Call) -> Response {
    let (all, waiting) = (call.shared.runs.dispatched(), call.shared.runs.count(Stage::Waiting));
    let rank = json!({ "dp_rank": 0, "num_reqs": all, "num_waiting_reqs": waiting, "num_tokens": 0 });
    respond(200, json!([rank]))
}

pub(super) async fn loads(call: Call) -> Response {
    let (running, waiting) = (call.shared.runs.count(Stage::Running), call.shared.runs.count(Stage::Waiting));
    respond(
        200,
        json!({
            "timestamp": 0.0, "version": call.shared.options.version, "accelerator": "none",
            "num_accelerators": 0,
            "loads": [{
                "timestamp": 0.0, "dp_rank": 0,
                "num_running_reqs": running, "num_waiting_reqs": waiting,
                "num_waiting_uncached_tokens": 0, "num_used_tokens": 0, "num_total_tokens": 0,
                "max_total_num_tokens": 1 << 20, "max_running_requests": 256, "token_usage": 0.0,
                "gen_throughput": 0.0, "cache_hit_rate": 0.0, "utilization": 0.0,
                "queues": {
                    "waiting": waiting, "grammar": 0, "paused": call.shared.runs.count(Stage::Held),
                    "retracted": 0, "prealloc_ready": 0,
                },
            }],
        }),
    )
}

/// A path that was taken away.
pub(super) async fn gone(_: Call) -> Response {
    let words = "Endpoint '/get_weight_version' or '/weight_version' is deprecated. Please use '/model_info' instead.";
    super::flat(404, words)
}

pub(super) async fn models(call: Call) -> Response {
    let model = call.shared.model();
    let entry = json!({
        "id": model, "object": "model", "created": 0, "owned_by": "sglang", "root": model,
        "max_model_len": call.shared.context(),
    });
    respond(200, json!({ "object": "list", "data": [entry] }))
}

pub(super) async fn metrics(call: Call) -> Response {
    let runs = &call.shared.runs;
    format!(
        "sglang:num_running_reqs {}\nsglang:num_queue_reqs {}\nsglang:num_paused_reqs {}\n",
        runs.count(Stage::Running),
        runs.count(Stage::Waiting),
        runs.count(Stage::Held),
    )
    .into_response()
}
