//! SGLang's chat endpoint: our ids in, its parsers' message out, ids and logprobs checked.
//!
//! `input_ids` takes the place of its rendering; the messages are sent along because the endpoint
//! wants some, and because a parser may count the calls in them.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use verbatim_engine::{AttemptId, End, Ending, EngineError, Increment, Params, Prompt, Score};
use verbatim_tokens::{LengthMismatch, TokenId};

use super::control::Plane;
use super::meta::Meta;
use super::{abort, affinity};
use crate::ExpertsShape;
use crate::chat::{Spoken, put_conversation};
use crate::failure::Told;
use crate::host::Host;
use crate::http::encode;
use crate::wire::{Asked, Call, Reader, Wire};

/// SGLang as its own parsers read it.
#[derive(Clone, Debug)]
pub(crate) struct SglangChat {
    /// The served model's name.
    pub(crate) model: String,
    /// The shape of its routed experts.
    pub(crate) experts: Option<ExpertsShape>,
}

impl Wire for SglangChat {
    type Reader = ChatReply;
    type Plane = Plane;

    fn call(&self, id: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError> {
        let mut asked: Map<String, Value> = Map::new();
        put_conversation(&mut asked, prompt)?;
        let mut put = |key: &str, value: Value| asked.insert(key.to_owned(), value);
        put("rid", json!(id.to_string()));
        put(
            "model",
            json!(
                params
                    .lora
                    .as_ref()
                    .map_or_else(|| self.model.clone(), |lora| format!("{}:{lora}", self.model),)
            ),
        );
        put("input_ids", json!(prompt.ids));
        put("max_tokens", json!(params.max_tokens));
        put("temperature", json!(params.temperature));
        put("top_p", json!(params.top_p));
        put("top_k", json!(params.top_k.map_or(-1, i64::from)));
        put("min_p", json!(params.min_p));
        put("presence_penalty", json!(params.presence_penalty));
        put("frequency_penalty", json!(params.frequency_penalty));
        put("repetition_penalty", json!(params.repetition_penalty));
        if params.min_tokens > 0 {
            put("min_tokens", json!(params.min_tokens));
        }
        put("stop_token_ids", json!(params.stop_ids));
        if !params.stop.is_empty() {
            put("stop", json!(params.stop));
        }
        if let Some(seed) = params.seed {
            put("seed", json!(seed & i64::MAX as u64));
        }
        put("logprobs", json!(true));
        put("return_meta_info", json!(true));
        put("return_token_ids", json!(true));
        put("no_stop_trim", json!(false));
        put("separate_reasoning", json!(true));
        if let Some(from) = prompt.experts_from {
            put("return_routed_experts", json!(true));
            put("routed_experts_start_len", json!(from));
        }
        if prompt.indexer {
            put("return_indexer_topk", json!(true));
        }
        Ok(Call { path: "/v1/chat/completions", headers: affinity(prompt), body: encode(&asked)? })
    }

    fn reader(&self, asked: Asked) -> ChatReply {
        ChatReply { asked, shape: self.experts, seen: 0 }
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

/// Reads one reply.
pub(crate) struct ChatReply {
    asked: Asked,
    shape: Option<ExpertsShape>,
    seen: usize,
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    error: Option<Told>,
    #[serde(borrow, default)]
    sglext: Option<Extras<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    message: Spoken,
    #[serde(borrow, default)]
    meta_info: Option<Meta<'a>>,
    /// Where 0.5.23 has the ids.
    #[serde(default)]
    response_token_ids: Option<Vec<TokenId>>,
    /// Where 0.5.17 has them.
    #[serde(default)]
    token_ids: Option<Vec<TokenId>>,
}

#[derive(Deserialize)]
struct Extras<'a> {
    #[serde(borrow, default)]
    routed_experts: Option<std::borrow::Cow<'a, str>>,
}

impl Reader for ChatReply {
    fn read(&mut self, data: &[u8], out: &mut Increment) -> Result<Option<End>, EngineError> {
        let poisoned = |reason: String| EngineError::Poisoned { reason };
        let reply: Completion<'_> = serde_json::from_slice(data)
            .map_err(|error| poisoned(format!("it is no reply of its chat endpoint: {error}")))?;
        if let Some(error) = reply.error {
            return Err(error.failure());
        }
        let Some(choice) = reply.choices.into_iter().next() else {
            return Err(poisoned("it has no choice".into()));
        };
        let Some(mut meta) = choice.meta_info else {
            return Err(poisoned("it has no meta_info: is this SGLang?".into()));
        };
        let pairs = meta.output_token_logprobs.take().unwrap_or_default();
        let ids = choice.response_token_ids.or(choice.token_ids).unwrap_or_else(|| pairs.ids.clone());
        let told = meta.completion_tokens.unwrap_or(ids.len());
        if ids.len() != told || pairs.ids.len() != told {
            return Err(LengthMismatch { ids: ids.len(), logprobs: pairs.ids.len(), versions: told }.into());
        }
        if ids != pairs.ids {
            return Err(poisoned("the ids beside the logprobs are not those of the reply".into()));
        }
        let reason = meta.finish_reason.take().ok_or_else(|| poisoned("it has no finish reason".into()))?;
        let ending = reason.ending(ids.last().copied());
        if matches!(ending, Ending::Failed(_)) {
            return Ok(Some(ending.into()));
        }
        self.seen = ids.len();
        if meta.routed_experts.is_none() {
            meta.routed_experts = reply.sglext.and_then(|extras| extras.routed_experts);
        }
        out.version = self.asked.sightings.see(meta.weight_version.as_deref());
        out.ids = ids;
        out.logprobs = pairs.logprobs;
        let end = meta.end(ending, &self.asked, self.seen, self.shape);
        Ok(Some(End { message: Some(Box::new(choice.message.into())), ..end }))
    }

    fn tokens(&self) -> usize {
        self.seen
    }
}
