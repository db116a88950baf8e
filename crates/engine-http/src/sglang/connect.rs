//! What a SGLang says of itself.

use std::sync::Arc;

use serde::Deserialize;
use verbatim_engine::{Capabilities, Engine, EngineError, Forms};
use verbatim_tokens::{LogprobKind, Version};

use super::{Sglang, SglangChat};
use crate::connect::{Models, base, client};
use crate::http::Http;
use crate::{Facts, Kind, Options, Parse, Server};

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
    enable_return_indexer_topk: bool,
    #[serde(default)]
    allow_auto_truncate: bool,
    #[serde(default)]
    skip_tokenizer_init: bool,
    tool_call_parser: Option<String>,
    reasoning_parser: Option<String>,
    grammar_backend: Option<String>,
}

#[derive(Default, Deserialize)]
struct ModelInfo {
    weight_version: Option<String>,
    has_image_understanding: Option<bool>,
}

/// Asks a SGLang, and makes an engine of it.
pub(crate) async fn connect(http: Http, options: &Options) -> Result<Server, EngineError> {
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
        logprobs: options.logprobs.unwrap_or(LogprobKind::Tempered),
        versions: model.weight_version.is_some(),
        version: model.weight_version.clone().map(Version::new),
        stop_strings: !info.skip_tokenizer_init,
        experts,
        indexer: info.enable_return_indexer_topk,
        // Its chat endpoint, which parses, would be shown them as messages and not beside ids.
        images: model.has_image_understanding == Some(true) && options.parse == Parse::Family,
        repetition_penalty: true,
        min_tokens: true,
        forms: forms(&info, options.parse),
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
        grammar: info.grammar_backend.map(|backend| backend != "none"),
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

/// What its grammar backend can do. Its chat endpoint, which parses, is not asked for any form.
fn forms(info: &ServerInfo, parse: Parse) -> Forms {
    if parse == Parse::Engine || info.skip_tokenizer_init {
        return Forms::NONE;
    }
    match info.grammar_backend.as_deref() {
        None | Some("xgrammar") => Forms::ALL,
        Some("llguidance") => Forms { json: true, regex: true, grammar: true, ..Forms::NONE },
        Some("outlines") => Forms { json: true, regex: true, ..Forms::NONE },
        Some(_) => Forms::NONE,
    }
}
