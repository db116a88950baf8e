//! vLLM, through `/inference/v1/generate`, or through `/v1/completions` where that is switched off.
//!
//! Read against vLLM 0.32 (run) and 0.33 (its source). Both routes stream what is new. Its logprobs
//! are raw unless the server runs with another `--logprobs-mode`.

mod chat;
mod connect;
mod control;
mod reply;
mod request;

use serde_json::{Value, json};
use verbatim_engine::{AttemptId, EngineError, Params, Prompt, Score};

pub(crate) use self::chat::VllmChat;
pub(crate) use self::connect::{Release, connect};
use self::control::Plane;
use self::reply::Reply;
use self::request::{Complete, Generate};
use crate::host::Host;
use crate::http::encode;
use crate::wire::{Asked, Call, Wire};

/// vLLM as a family's parser reads it.
#[derive(Clone, Debug)]
pub(crate) struct Vllm {
    /// The served model's name.
    pub(crate) model: String,
    /// Which route takes ids.
    pub(crate) route: Route,
    /// Where attempts are aborted; where there is no such place, closing the connection does it.
    pub(crate) abort: Option<&'static str>,
}

/// A route that takes ids and gives ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/inference/v1/generate`.
    Generate,
    /// `/v1/completions`.
    Completions,
}

impl Wire for Vllm {
    type Reader = Reply;
    type Plane = Plane;

    fn call(&self, id: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError> {
        let model = params.lora.as_deref().unwrap_or(&self.model);
        let (path, body) = match self.route {
            Route::Generate => {
                ("/inference/v1/generate", encode(&Generate::new(id, model, prompt, params)?)?)
            }
            Route::Completions => ("/v1/completions", encode(&Complete::new(id, model, prompt, params)?)?),
        };
        Ok(Call { path, headers: headers(id, prompt), body })
    }

    fn reader(&self, asked: Asked) -> Reply {
        Reply::new(asked)
    }

    fn abort(&self, id: AttemptId) -> Option<(&'static str, Value)> {
        let name = match self.route {
            Route::Generate => format!("generate-tokens-{id}"),
            Route::Completions => format!("cmpl-{id}-0"),
        };
        Some((self.abort?, json!({"request_ids": [name]})))
    }

    fn plane(&self, host: Host) -> Plane {
        Plane { host, model: self.model.clone() }
    }

    fn score(plane: &Plane) -> Option<&dyn Score> {
        Some(plane)
    }
}

/// The attempt's name, and what routers need to send a session to where its prefix is.
fn headers(id: AttemptId, prompt: &Prompt) -> Vec<(&'static str, String)> {
    let session = prompt.session.0.to_string();
    vec![("x-request-id", id.to_string()), ("x-session-id", session.clone()), ("x-smg-routing-key", session)]
}
