//! SGLang, through `/generate`: ids in, ids and logprobs out.
//!
//! Read against SGLang 0.5.17 (run) and 0.5.23 (its source). Its logprobs are those of the tempered
//! distribution before truncation; at temperature 1, and where it samples greedily, that is the raw one.
//!
//! Streams are cumulative unless the server runs with `--incremental-streaming-output`: chunk `n` holds
//! all `n` tokens again. Without that flag a reply is therefore asked for whole.

mod chat;
mod connect;
mod control;
mod meta;
mod reply;
mod request;

use serde_json::{Value, json};
use verbatim_engine::{AttemptId, EngineError, Params, Prompt, Score};

pub(crate) use self::chat::SglangChat;
pub(crate) use self::connect::connect;
use self::control::Plane;
use self::reply::{Chunks, Reply};
use self::request::Generate;
use crate::ExpertsShape;
use crate::host::Host;
use crate::http::encode;
use crate::wire::{Asked, Call, Wire};

/// SGLang as a family's parser reads it.
#[derive(Clone, Debug)]
pub(crate) struct Sglang {
    /// Whether the server streams what is new, and only that.
    pub(crate) incremental: bool,
    /// The shape of its routed experts.
    pub(crate) experts: Option<ExpertsShape>,
}

impl Wire for Sglang {
    type Reader = Reply;
    type Plane = Plane;

    fn call(&self, id: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError> {
        let body = Generate::new(id, prompt, params, self.incremental)?;
        Ok(Call { path: "/generate", headers: affinity(prompt), body: encode(&body)? })
    }

    fn reader(&self, asked: Asked) -> Reply {
        let chunks = if self.incremental { Chunks::Incremental } else { Chunks::Cumulative };
        Reply::new(chunks, self.experts, asked)
    }

    fn abort(&self, id: AttemptId) -> Option<(&'static str, Value)> {
        Some(abort(id))
    }

    fn plane(&self, host: Host) -> Plane {
        Plane { host }
    }

    fn score(plane: &Plane) -> Option<&dyn Score> {
        Some(plane)
    }
}

/// Ends one request by its name. SGLang takes every name that begins with it, which is why ours have
/// one length (#30912).
fn abort(id: AttemptId) -> (&'static str, Value) {
    ("/abort_request", json!({"rid": id.to_string(), "abort_all": false}))
}

/// What a router in front needs to send a session to where its prefix is.
pub(crate) fn affinity(prompt: &Prompt) -> Vec<(&'static str, String)> {
    vec![("x-smg-routing-key", prompt.session.0.to_string())]
}
