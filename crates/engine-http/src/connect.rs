//! From a URL to an engine: what kind it is, and what it says of itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use verbatim_engine::{Capabilities, Engine, EngineError};
use verbatim_tokens::{LogprobKind, Version};

use crate::client::Client;
use crate::http::{Http, decode};
use crate::llamacpp::LlamaCpp;
use crate::sglang::{Sglang, SglangChat};
use crate::vllm::{Route, Vllm, VllmChat};
use crate::{ExpertsShape, Options, Parse};

/// The most alternatives a token that are asked for.
const TOP_LOGPROBS: u8 = 20;

/// A kind of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
    /// llama.cpp's server.
    LlamaCpp,
}

impl Kind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llamacpp",
        }
    }
}

/// A server that answered.
#[derive(Clone)]
pub struct Server {
    /// Its URL.
    pub url: String,
    /// Its kind.
    pub kind: Kind,
    /// Itself.
    pub engine: Arc<dyn Engine>,
    /// What it says of itself.
    pub facts: Facts,
}

/// What a server says of itself. `None` is "it does not say".
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The engine's own version.
    pub release: Option<String>,
    /// Where its model and its tokenizer were loaded from.
    pub model_path: Option<String>,
    /// SGLang: whether it streams what is new, and only that.
    pub incremental: Option<bool>,
    /// Whether it reports routed experts.
    pub experts: Option<bool>,
    /// Whether it can be paused and told its weight version.
    pub control: Option<bool>,
    /// Whether it can name the weights of its tokens.
    pub versions: Option<bool>,
    /// vLLM: whether `/inference/v1/generate` is on.
    pub tokens_route: Option<bool>,
    /// Its tool-call parser.
    pub tool_call_parser: Option<String>,
    /// Its reasoning parser.
    pub reasoning_parser: Option<String>,
    /// SGLang: whether it shortens what is too long without a word.
    pub truncates: Option<bool>,
    /// Whether the model reads images.
    pub images: Option<bool>,
    /// Whether the server has no tokenizer.
    pub no_tokenizer: Option<bool>,
}

/// Asks a server what it is, and makes an engine of it. Without a `kind` every kind is tried.
///
/// # Errors
/// [`EngineError`] if nothing answers, or what answers is none of the known kinds.
pub async fn connect(url: &str, kind: Option<Kind>, options: &Options) -> Result<Server, EngineError> {
    let http = Http::new(url, options)?;
    let kind = match kind {
        Some(kind) => kind,
        None => detect(&http).await?,
    };
    match kind {
        Kind::Sglang => sglang(http, options).await,
        Kind::Vllm => vllm(http, options).await,
        Kind::LlamaCpp => llamacpp(http, options).await,
    }
}

async fn detect(http: &Http) -> Result<Kind, EngineError> {
    for path in ["/server_info", "/get_server_info"] {
        // vLLM has the first one too, in development mode, with other keys.
        match http.json::<Value>(path).await {
            Ok(info) if info.get("tp_size").is_some() || info.get("model_path").is_some() => {
                return Ok(Kind::Sglang);
            }
            Err(error @ EngineError::Unavailable { .. }) if !answered(&error) => return Err(error),
            Err(error @ EngineError::Refused { .. }) if is_locked(&error) => return Err(error),
            _ => {}
        }
    }
    if http.json::<Release>("/version").await.is_ok() {
        return Ok(Kind::Vllm);
    }
    if http.json::<Props>("/props").await.is_ok() {
        return Ok(Kind::LlamaCpp);
    }
    let base = http.base();
    let reason = format!(
        "{base} answers, and is neither SGLang (/server_info), vLLM (/version) nor llama.cpp (/props)"
    );
    Err(EngineError::Broken { reason })
}

/// Whether a key is missing or wrong.
fn is_locked(error: &EngineError) -> bool {
    let text = error.to_string();
    ["status 401", "status 403"].iter().any(|status| text.contains(status))
}

/// Whether a status came back at all.
fn answered(error: &EngineError) -> bool {
    error.to_string().contains("status ")
}

#[derive(Deserialize)]
struct Release {
    version: String,
}

#[derive(Default, Deserialize)]
struct Models {
    #[serde(default)]
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    max_model_len: Option<usize>,
}

#[derive(Deserialize)]
struct ServerInfo {
    version: Option<String>,
    served_model_name: Option<String>,
    model_path: Option<String>,
    context_length: Option<usize>,
    #[serde(default)]
    incremental_streaming_output: bool,
    #[serde(default)]
    enable_return_routed_experts: bool,
    #[serde(default)]
    allow_auto_truncate: bool,
    #[serde(default)]
    skip_tokenizer_init: bool,
    tool_call_parser: Option<String>,
    reasoning_parser: Option<String>,
}

#[derive(Default, Deserialize)]
struct ModelInfo {
    weight_version: Option<String>,
    has_image_understanding: Option<bool>,
}

async fn sglang(http: Http, options: &Options) -> Result<Server, EngineError> {
    let info: ServerInfo = match http.json("/server_info").await {
        Ok(info) => info,
        Err(_) => http.json("/get_server_info").await?,
    };
    let model: ModelInfo = http.json("/model_info").await.unwrap_or_default();
    let models: Models = http.json("/v1/models").await.unwrap_or_default();
    let context = info.context_length.or(models.data.first().and_then(|model| model.max_model_len));
    let name = info.served_model_name.clone().or(info.model_path.clone()).unwrap_or_else(|| "sglang".into());
    let experts = info.enable_return_routed_experts && options.experts.is_some();
    let capabilities = Capabilities {
        logprobs: LogprobKind::Tempered,
        top_logprobs: if options.parse == Parse::Engine { 0 } else { TOP_LOGPROBS },
        versions: model.weight_version.is_some(),
        version: model.weight_version.clone().map(Version::new),
        stop_strings: !info.skip_tokenizer_init,
        experts,
        parses: options.parse == Parse::Engine,
        ..base(Kind::Sglang, &name, context, options)?
    };
    let facts = Facts {
        release: info.version,
        model_path: info.model_path,
        incremental: Some(info.incremental_streaming_output),
        experts: Some(info.enable_return_routed_experts),
        control: Some(true),
        versions: Some(model.weight_version.is_some()),
        tokens_route: None,
        tool_call_parser: info.tool_call_parser,
        reasoning_parser: info.reasoning_parser,
        truncates: Some(info.allow_auto_truncate),
        images: model.has_image_understanding,
        no_tokenizer: Some(info.skip_tokenizer_init),
    };
    let shape = options.experts;
    let incremental = info.incremental_streaming_output;
    let engine: Arc<dyn Engine> = match options.parse {
        Parse::Family => client(Sglang { incremental, experts: shape }, &http, capabilities, options),
        Parse::Engine => client(SglangChat { model: name, experts: shape }, &http, capabilities, options),
    };
    Ok(Server { url: http.base().to_owned(), kind: Kind::Sglang, engine, facts })
}

#[derive(Deserialize)]
struct WeightInfo {
    weight_version: String,
}

async fn vllm(http: Http, options: &Options) -> Result<Server, EngineError> {
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
    let logprobs = match mode {
        Some("processed_logprobs") => LogprobKind::Processed,
        Some(_) => LogprobKind::Raw,
        None => logprobs_kind(&http, &model.id).await.unwrap_or(LogprobKind::Raw),
    };
    let capabilities = Capabilities {
        logprobs,
        top_logprobs: if options.parse == Parse::Engine { 0 } else { TOP_LOGPROBS },
        versions: tokens_route && weights.is_some() && options.parse == Parse::Family,
        version: weights.as_ref().map(|info| Version::new(info.weight_version.as_str())),
        stop_strings: true,
        // Where it does not say, a turn that gets none tells.
        experts: tokens_route && flag("enable_return_routed_experts").unwrap_or(true),
        parses: options.parse == Parse::Engine,
        ..base(Kind::Vllm, &model.id, model.max_model_len, options)?
    };
    let facts = Facts {
        release: Some(release.version),
        experts: flag("enable_return_routed_experts"),
        control: Some(weights.is_some()),
        versions: Some(tokens_route && weights.is_some()),
        tokens_route: Some(tokens_route),
        ..Facts::default()
    };
    let engine: Arc<dyn Engine> = match options.parse {
        Parse::Family => client(Vllm { model: model.id, route, abort }, &http, capabilities, options),
        Parse::Engine => client(VllmChat { model: model.id, abort }, &http, capabilities, options),
    };
    Ok(Server { url: http.base().to_owned(), kind: Kind::Vllm, engine, facts })
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
    top_logprobs: Vec<std::collections::HashMap<String, f64>>,
}

/// Of which distribution a vLLM's logprobs are, where it does not say: among two tokens that alone may
/// be sampled, processed ones add up to 1.
async fn logprobs_kind(http: &Http, model: &str) -> Result<LogprobKind, EngineError> {
    let body = json!({"model": model, "prompt": [1, 2, 3, 4], "max_tokens": 4, "temperature": 1.0, "top_k": 2, "logprobs": 2});
    let reply = http.generate("/v1/completions", &[], crate::sglang::encode(&body)?).await?;
    let reply = reply.bytes().await.map_err(|error| crate::failure::lost(&error, 0))?;
    let Narrow { choices } = decode("/v1/completions", &reply)?;
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

/// The first value under a key, however deep.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(key).or_else(|| fields.values().find_map(|value| find(value, key)))
        }
        Value::Array(list) => list.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Props {
    default_generation_settings: Option<Value>,
    model_path: Option<String>,
    build_info: Option<String>,
    modalities: Option<Value>,
}

async fn llamacpp(http: Http, options: &Options) -> Result<Server, EngineError> {
    if options.parse == Parse::Engine {
        let reason = "llama.cpp's chat endpoint takes no ids: use the family's parser".to_owned();
        return Err(EngineError::Refused { message: reason });
    }
    let props: Props = http.json("/props").await?;
    let context = props.default_generation_settings.as_ref().and_then(|settings| find(settings, "n_ctx"));
    let context = context.and_then(Value::as_u64).map(|tokens| tokens as usize);
    let path = props.model_path.clone().unwrap_or_else(|| "llamacpp".into());
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    let capabilities = Capabilities {
        top_logprobs: TOP_LOGPROBS,
        stop_strings: true,
        ..base(Kind::LlamaCpp, &name, context, options)?
    };
    let images = props.modalities.as_ref().and_then(|kinds| kinds.get("vision")?.as_bool());
    let facts = Facts {
        release: props.build_info,
        model_path: props.model_path,
        experts: Some(false),
        control: Some(false),
        versions: Some(false),
        images,
        ..Facts::default()
    };
    let engine = client(LlamaCpp, &http, capabilities, options);
    Ok(Server { url: http.base().to_owned(), kind: Kind::LlamaCpp, engine, facts })
}

fn base(
    kind: Kind,
    name: &str,
    context: Option<usize>,
    options: &Options,
) -> Result<Capabilities, EngineError> {
    let context = match (context, options.max_context) {
        (Some(told), Some(most)) => told.min(most),
        (told, most) => told.or(most).ok_or_else(|| EngineError::Broken {
            reason: "it does not say how many tokens it holds; give engine.max_context".into(),
        })?,
    };
    Ok(Capabilities::new(kind.as_str(), name, context, options.vocabulary))
}

fn client<W: crate::wire::Wire>(
    wire: W,
    http: &Http,
    capabilities: Capabilities,
    options: &Options,
) -> Arc<dyn Engine> {
    Arc::new(Client::new(wire, http.clone(), capabilities, options.clone()))
}

/// The shape of a model's routed experts, from the text of its Hugging Face `config.json`.
pub fn experts_shape(config: &str) -> Option<ExpertsShape> {
    let config: Value = serde_json::from_str(config).ok()?;
    let number = |key: &str| find(&config, key)?.as_u64().map(|number| number as usize);
    let top_k = number("num_experts_per_tok").or_else(|| number("num_experts_per_token"))?;
    Some(ExpertsShape { layers: number("num_hidden_layers")?, top_k })
}
