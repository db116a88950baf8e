//! What a vLLM says of itself.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use verbatim_engine::{Capabilities, Engine, EngineError, Forms};
use verbatim_tokens::{LogprobKind, Version};

use super::{Route, Vllm, VllmChat};
use crate::connect::{Models, base, client, find};
use crate::http::{Http, decode};
use crate::{Facts, Kind, Options, Parse, Server};

/// `/version`, by which it is known.
#[derive(Deserialize)]
pub(crate) struct Release {
    version: String,
}

#[derive(Deserialize)]
struct WeightInfo {
    weight_version: String,
}

#[derive(Deserialize)]
struct Narrow {
    choices: Vec<NarrowChoice>,
}

#[derive(Deserialize)]
struct NarrowChoice {
    logprobs: Option<NarrowLogprobs>,
}

#[derive(Deserialize)]
struct NarrowLogprobs {
    top_logprobs: Vec<HashMap<String, f64>>,
}

/// Asks a vLLM, and makes an engine of it.
pub(crate) async fn connect(http: Http, options: &Options) -> Result<Server, EngineError> {
    let release: Release = http.json("/version").await?;
    let models: Models = http.json("/v1/models").await?;
    let model = models
        .data
        .into_iter()
        .next()
        .ok_or_else(|| EngineError::Broken { reason: format!("{} serves no model", http.base()) })?;
    let weights: Option<WeightInfo> = http.json("/weight_info").await.ok();
    // An empty request is refused where the route is on, and forbidden or unknown where it is off.
    let tokens_route = on(http.post("/inference/v1/generate", &json!({})).await);
    let aborts = tokens_route && on(http.post("/inference/v1/abort_requests", &json!({})).await);
    let abort = match (aborts, weights.is_some()) {
        (true, _) => Some("/inference/v1/abort_requests"),
        (false, true) => Some("/abort_requests"),
        (false, false) => None,
    };
    let config = http.get_admin("/server_info?config_format=json").await.ok();
    let config: Option<Value> = config.and_then(|body| decode("/server_info", &body).ok());
    let mode = config.as_ref().and_then(|config| find(config, "logprobs_mode")?.as_str());
    let flag = |name: &str| config.as_ref().and_then(|config| find(config, name)?.as_bool());
    let route = if tokens_route { Route::Generate } else { Route::Completions };
    let logprobs = match (options.logprobs, mode) {
        (Some(kind), _) => kind,
        (None, Some("processed_logprobs")) => LogprobKind::Processed,
        (None, Some(_)) => LogprobKind::Raw,
        (None, None) => match logprobs_kind(&http, &model.id).await {
            // It has no such route, or none for us.
            Err(EngineError::Refused { .. }) => LogprobKind::Raw,
            kind => kind?,
        },
    };
    let forms = match (options.parse, route) {
        (Parse::Engine, _) => Forms::NONE,
        (Parse::Family, Route::Generate) => Forms::ALL,
        // There nothing says that a form is about the reasoning, too.
        (Parse::Family, Route::Completions) => Forms { composed: false, tag: false, ..Forms::ALL },
    };
    let capabilities = Capabilities {
        logprobs,
        versions: tokens_route && weights.is_some() && options.parse == Parse::Family,
        version: weights.as_ref().map(|info| Version::new(info.weight_version.as_str())),
        stop_strings: true,
        // Where it does not say, a turn that gets none tells.
        experts: tokens_route && flag("enable_return_routed_experts").unwrap_or(true),
        repetition_penalty: true,
        min_tokens: true,
        forms,
        ..base(Kind::Vllm, &model.id, model.max_model_len, options)?
    };
    let facts = Facts {
        release: Some(release.version),
        model_path: model.root.clone(),
        experts: flag("enable_return_routed_experts"),
        control: Some(weights.is_some()),
        versions: Some(tokens_route && weights.is_some()),
        tokens_route: Some(tokens_route),
        grammar: Some(true),
        ..Facts::default()
    };
    let engine: Arc<dyn Engine> = match options.parse {
        Parse::Family => client(Vllm { model: model.id, route, abort }, &http, capabilities, options),
        Parse::Engine => client(VllmChat { model: model.id, abort }, &http, capabilities, options),
    };
    Ok(Server { url: http.base().to_owned(), kind: Kind::Vllm, engine, facts })
}

/// Of which distribution a vLLM's logprobs are, where it does not say: among two tokens that alone may
/// be sampled, processed ones add up to 1.
async fn logprobs_kind(http: &Http, model: &str) -> Result<LogprobKind, EngineError> {
    let body = json!({"model": model, "prompt": [1, 2, 3, 4], "max_tokens": 4, "temperature": 1.0, "top_k": 2, "logprobs": 2});
    let Narrow { choices } = match http.generated("/v1/completions", &body).await {
        // The connection may have been closed after a request before this one.
        Err(EngineError::Unavailable { .. }) => http.generated("/v1/completions", &body).await?,
        reply => reply?,
    };
    let logprobs = choices.into_iter().next().and_then(|choice| choice.logprobs);
    let sums = logprobs.iter().flat_map(|told| &told.top_logprobs);
    let mut sums = sums.map(|top| top.values().map(|logprob| logprob.exp()).sum::<f64>());
    let processed = logprobs.is_some() && sums.all(|sum| (sum - 1.0).abs() < 1e-3);
    Ok(if processed { LogprobKind::Processed } else { LogprobKind::Raw })
}

/// Whether a route is there: what refused an empty body knows what it wants.
fn on(reply: Result<bytes::Bytes, EngineError>) -> bool {
    match reply {
        Ok(_) => true,
        Err(EngineError::Refused { message }) => {
            !["status 403", "status 404", "status 405"].iter().any(|off| message.starts_with(off))
        }
        Err(_) => false,
    }
}
