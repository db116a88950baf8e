//! What a llama.cpp server says of itself.

use serde::Deserialize;
use serde_json::Value;
use verbatim_engine::{Capabilities, EngineError, Forms};

use super::LlamaCpp;
use crate::connect::{base, client, find};
use crate::http::Http;
use crate::{Facts, Kind, Options, Parse, Server};

/// `/props`, by which it is known.
#[derive(Deserialize)]
pub(crate) struct Props {
    default_generation_settings: Option<Value>,
    model_path: Option<String>,
    build_info: Option<String>,
    modalities: Option<Value>,
}

/// Asks a llama.cpp server, and makes an engine of it.
pub(crate) async fn connect(http: Http, options: &Options) -> Result<Server, EngineError> {
    if options.parse == Parse::Engine {
        let reason = "llama.cpp's chat endpoint takes no ids: use the family's parser".to_owned();
        return Err(EngineError::Refused { message: reason });
    }
    let props: Props = http.json("/props").await?;
    let context = props.default_generation_settings.as_ref().and_then(|settings| find(settings, "n_ctx"));
    let context = context.and_then(Value::as_u64).map(|tokens| tokens as usize);
    let path = props.model_path.clone().unwrap_or_else(|| "llamacpp".into());
    let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
    let forms = Forms { json: true, grammar: true, ..Forms::NONE };
    let capabilities =
        Capabilities { stop_strings: true, forms, ..base(Kind::LlamaCpp, &name, context, options)? };
    let images = props.modalities.as_ref().and_then(|kinds| kinds.get("vision")?.as_bool());
    let facts = Facts {
        release: props.build_info,
        model_path: props.model_path,
        experts: Some(false),
        control: Some(false),
        versions: Some(false),
        grammar: Some(true),
        images,
        ..Facts::default()
    };
    let engine = client(LlamaCpp, &http, capabilities, options);
    Ok(Server { url: http.base().to_owned(), kind: Kind::LlamaCpp, engine, facts })
}
