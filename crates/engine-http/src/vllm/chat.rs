//! vLLM's chat endpoint: our ids in, its parsers' message out, ids and logprobs checked.
//!
//! It is asked for a whole reply, because parsers that stream have lost ids (#27482). That the prompt
//! was ours is checked: the endpoint repeats the ids that it read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use verbatim_engine::{AttemptId, End, Ending, EngineError, Increment, Params, Prompt, Score};
use verbatim_tokens::{LengthMismatch, TokenId};

use super::control::Plane;
use super::reply::{Span, StopReason, Usage, ending};
use super::request::Sampling;
use crate::chat::{Spoken, put_conversation};
use crate::failure::Told;
use crate::host::Host;
use crate::http::encode;
use crate::logprob::known;
use crate::wire::{Asked, Call, Reader, Wire};

/// vLLM as its own parsers read it.
#[derive(Clone, Debug)]
pub(crate) struct VllmChat {
    /// The served model's name.
    pub(crate) model: String,
    /// Where attempts are aborted.
    pub(crate) abort: Option<&'static str>,
}

impl Wire for VllmChat {
    type Reader = ChatReply;
    type Plane = Plane;

    fn call(&self, id: AttemptId, prompt: &Prompt, params: &Params) -> Result<Call, EngineError> {
        let broken = |error: serde_json::Error| EngineError::Broken { reason: error.to_string() };
        let sampling = serde_json::to_value(Sampling::new(params)?).map_err(broken)?;
        let mut asked: Map<String, Value> = match sampling {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        put_conversation(&mut asked, prompt)?;
        let mut put = |key: &str, value: Value| asked.insert(key.to_owned(), value);
        put("request_id", json!(id.to_string()));
        put("model", json!(params.lora.as_deref().unwrap_or(&self.model)));
        put("kv_transfer_params", json!({"prompt_token_ids": prompt.ids}));
        put("include_stop_str_in_output", json!(false));
        put("logprobs", json!(true));
        put("top_logprobs", json!(params.top_logprobs));
        put("return_token_ids", json!(true));
        put("return_weight_versions", json!(true));
        Ok(Call { path: "/v1/chat/completions", headers: super::headers(id, prompt), body: encode(&asked)? })
    }

    fn reader(&self, asked: Asked) -> ChatReply {
        ChatReply { asked, seen: 0 }
    }

    fn abort(&self, id: AttemptId) -> Option<(&'static str, Value)> {
        Some((self.abort?, json!({"request_ids": [format!("chatcmpl-{id}")]})))
    }

    fn plane(&self, host: Host) -> Plane {
        Plane { host, model: self.model.clone() }
    }

    fn score(plane: &Plane) -> Option<&dyn Score> {
        Some(plane)
    }
}

/// Reads one reply.
pub(crate) struct ChatReply {
    asked: Asked,
    seen: usize,
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    prompt_token_ids: Option<Vec<TokenId>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Told>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    message: Spoken,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    stop_reason: Option<StopReason<'a>>,
    #[serde(default)]
    token_ids: Option<Vec<TokenId>>,
    #[serde(default)]
    logprobs: Option<Logprobs>,
    #[serde(borrow, default)]
    weight_versions: Option<Vec<Span<'a>>>,
}

#[derive(Default, Deserialize)]
struct Logprobs {
    #[serde(default)]
    content: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    logprob: Option<f32>,
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
        let read = reply.prompt_token_ids.map(|ids| ids.len());
        if read != Some(self.asked.prompt) {
            let read = read.map_or("unknown".to_owned(), |read| read.to_string());
            let reason = format!("it read a prompt of {read} ids where {} were sent", self.asked.prompt);
            return Err(poisoned(reason));
        }
        let ids = choice.token_ids.unwrap_or_default();
        let entries = choice.logprobs.unwrap_or_default().content.unwrap_or_default();
        let told = reply.usage.as_ref().map_or(ids.len(), |usage| usage.completion_tokens);
        if entries.len() != ids.len() || told != ids.len() {
            return Err(LengthMismatch { ids: ids.len(), logprobs: entries.len(), versions: told }.into());
        }
        let reason = choice.finish_reason.ok_or_else(|| poisoned("it has no finish reason".into()))?;
        let ending = ending(&reason, choice.stop_reason.as_ref(), ids.last().copied());
        if matches!(ending, Ending::Failed(_)) {
            return Ok(Some(ending.into()));
        }
        self.seen = ids.len();
        out.ids = ids;
        out.logprobs = entries.into_iter().map(|entry| known(entry.logprob)).collect();
        Ok(Some(End {
            cached_tokens: reply.usage.and_then(|usage| usage.cached()),
            versions: choice.weight_versions.map(|spans| spans.iter().map(Span::read).collect()),
            message: Some(Box::new(choice.message.into())),
            ..ending.into()
        }))
    }

    fn tokens(&self) -> usize {
        self.seen
    }
}
