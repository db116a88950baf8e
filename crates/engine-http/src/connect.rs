//! From a URL to an engine: what kind it is, and what it says of itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use verbatim_engine::{Capabilities, Engine, EngineError};

use crate::client::Client;
use crate::http::Http;
use crate::wire::Wire;
use crate::{ExpertsShape, Options, Parse, llamacpp, sglang, vllm};

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
    /// Whether it can be held to a grammar.
    pub grammar: Option<bool>,
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
        Kind::Sglang => sglang::connect(http, options).await,
        Kind::Vllm => vllm::connect(http, options).await,
        Kind::LlamaCpp => llamacpp::connect(http, options).await,
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
            // A path that is there and fails is not SGLang's.
            Err(EngineError::Unavailable { .. }) => break,
            _ => {}
        }
    }
    if http.json::<vllm::Release>("/version").await.is_ok() {
        return Ok(Kind::Vllm);
    }
    if http.json::<llamacpp::Props>("/props").await.is_ok() {
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

/// `/v1/models` of SGLang and vLLM.
#[derive(Default, Deserialize)]
pub(crate) struct Models {
    #[serde(default)]
    pub(crate) data: Vec<Model>,
}

#[derive(Deserialize)]
pub(crate) struct Model {
    pub(crate) id: String,
    pub(crate) max_model_len: Option<usize>,
    /// vLLM: what it loaded.
    pub(crate) root: Option<String>,
}

/// The first value under a key, however deep.
pub(crate) fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            fields.get(key).or_else(|| fields.values().find_map(|value| find(value, key)))
        }
        Value::Array(list) => list.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

/// What every server's capabilities begin with.
pub(crate) fn base(
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
    let parses = options.parse == Parse::Engine;
    // Chat endpoints give strings in their place.
    let top_logprobs = if parses { 0 } else { TOP_LOGPROBS };
    let base = Capabilities::new(kind.as_str(), name, context, options.vocabulary);
    Ok(Capabilities { parses, top_logprobs, ..base })
}

/// A server as an engine.
pub(crate) fn client<W: Wire>(
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
