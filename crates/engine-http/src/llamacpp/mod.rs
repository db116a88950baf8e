//! llama.cpp's server, through `/completion`.
//!
//! Read against the server in llama-cpp-python 0.3.36 (run). A reply is asked for whole: a stream
//! leaves out every token that ends inside a character. An attempt is aborted by closing its
//! connection, which loses what it sampled; the server does not notice and finishes the reply for
//! nobody. There is no pause and no version.

mod connect;
mod control;
mod reply;
mod score;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_engine::{AttemptId, EngineError, Params, Prompt, Score};
use verbatim_tokens::TokenId;

pub(crate) use self::connect::{Props, connect};
use self::control::Plane;
use self::reply::Reply;
use crate::form::Spelt;
use crate::host::Host;
use crate::http::encode;
use crate::wire::{Asked, Call, Wire};

/// llama.cpp.
#[derive(Clone, Debug)]
pub(crate) struct LlamaCpp;

/// Its defaults are not neutral (temperature 0.8, top-k 40, top-p 0.95, min-p 0.05), so all are sent.
#[derive(Serialize)]
struct Completion<'a> {
    prompt: &'a [TokenId],
    n_predict: u32,
    stream: bool,
    temperature: f32,
    /// 0 is off.
    top_k: u32,
    top_p: f32,
    min_p: f32,
    typical_p: f32,
    repeat_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    /// Shifting the context would drop tokens that the row keeps.
    n_keep: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    stop: &'a [String],
    n_probs: u32,
    post_sampling_probs: bool,
    return_tokens: bool,
    cache_prompt: bool,
    id_slot: i32,
    ignore_eos: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar: Option<&'a str>,
}

impl Wire for LlamaCpp {
    type Reader = Reply;
    type Plane = Plane;

    fn call(&self, _: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError> {
        if params.lora.is_some() {
            return Err(EngineError::Unsupported { what: "choose an adapter by name" });
        }
        let (json_schema, grammar) = match params.form.as_deref().map(Spelt::new).transpose()? {
            None => (None, None),
            Some(Spelt::Json(schema)) => (Some(schema), None),
            Some(Spelt::Grammar(grammar)) => (None, Some(grammar)),
            Some(Spelt::Regex(_) | Spelt::Tag(_)) => {
                return Err(EngineError::Unsupported { what: "hold a reply to such a form" });
            }
        };
        let body = Completion {
            prompt: &prompt.ids,
            n_predict: params.max_tokens,
            stream: false,
            temperature: params.temperature,
            top_k: params.top_k.unwrap_or(0),
            top_p: params.top_p,
            min_p: params.min_p,
            typical_p: 1.0,
            repeat_penalty: 1.0,
            presence_penalty: params.presence_penalty,
            frequency_penalty: params.frequency_penalty,
            n_keep: -1,
            // 32 bits there, of which one value means "random".
            seed: params.seed.map(|seed| (seed ^ (seed >> 32)) as u32 & i32::MAX as u32),
            stop: &params.stop,
            n_probs: u32::from(params.top_logprobs.max(1)),
            post_sampling_probs: false,
            return_tokens: true,
            cache_prompt: true,
            id_slot: -1,
            ignore_eos: false,
            json_schema,
            grammar,
        };
        Ok(Call { path: "/completion", headers: Vec::new(), body: encode(&body)? })
    }

    fn reader(&self, asked: Asked) -> Reply {
        Reply::new(asked)
    }

    fn abort(&self, _: AttemptId) -> Option<(&'static str, Value)> {
        None
    }

    fn plane(&self, host: Host) -> Plane {
        Plane { host }
    }

    fn score(plane: &Plane) -> Option<&dyn Score> {
        Some(plane)
    }
}
