//! Reading vLLM's streams: `/inference/v1/generate` and `/v1/completions`.
//!
//! The invariant: a delta's ids have as many logprobs as there are ids, and the usage that closes the
//! stream counts as many tokens as were read.

use std::borrow::Cow;

use serde::Deserialize;
use verbatim_engine::{End, Ending, EngineError, Increment, StopBy, VersionSpan};
use verbatim_tokens::{LengthMismatch, TokenId, Version};

use crate::experts::{Expected, accepted, npy};
use crate::failure::Told;
use crate::logprob::known;
use crate::wire::{Asked, Reader};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Told>,
}

#[derive(Deserialize)]
pub(super) struct Usage {
    pub(super) completion_tokens: usize,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    stop_reason: Option<StopReason<'a>>,
    #[serde(default)]
    token_ids: Option<Vec<TokenId>>,
    #[serde(default)]
    logprobs: Option<Logprobs>,
    #[serde(borrow, default)]
    routed_experts: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    weight_versions: Option<Vec<Span<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Span<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
    start: usize,
    end: usize,
}

/// What a turn stopped at; null for the model's own end token.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum StopReason<'a> {
    Token(TokenId),
    #[serde(borrow)]
    Text(Cow<'a, str>),
}

/// `{content: […]}` of the generate route, `{token_logprobs: […]}` of the completions route.
#[derive(Default, Deserialize)]
struct Logprobs {
    #[serde(default)]
    content: Option<Vec<Entry>>,
    #[serde(default)]
    token_logprobs: Option<Vec<Option<f32>>>,
}

#[derive(Deserialize)]
struct Entry {
    token_id: TokenId,
    logprob: Option<f32>,
    #[serde(default)]
    top_logprobs: Option<Vec<Alternative>>,
}

#[derive(Deserialize)]
struct Alternative {
    token_id: TokenId,
    logprob: Option<f32>,
}

/// Reads one reply.
pub(crate) struct Reply {
    asked: Asked,
    seen: usize,
    last: Option<TokenId>,
    end: Option<End>,
}

impl Reply {
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, seen: 0, last: None, end: None }
    }

    fn tokens(
        &mut self,
        ids: Vec<TokenId>,
        logprobs: Logprobs,
        out: &mut Increment,
    ) -> Result<(), EngineError> {
        let mut top = Vec::new();
        let values: Vec<Option<f32>> = match logprobs {
            Logprobs { content: Some(entries), .. } => {
                if entries.len() == ids.len()
                    && let Some((entry, id)) =
                        entries.iter().zip(&ids).find(|(entry, id)| entry.token_id != **id)
                {
                    let reason = format!("the logprob beside id {id} is that of id {}", entry.token_id);
                    return Err(EngineError::Poisoned { reason });
                }
                let wanted =
                    entries.iter().any(|entry| entry.top_logprobs.as_ref().is_some_and(|top| top.len() > 1));
                entries
                    .into_iter()
                    .map(|entry| {
                        if wanted {
                            top.push(alternatives(entry.top_logprobs.unwrap_or_default()));
                        }
                        known(entry.logprob)
                    })
                    .collect()
            }
            Logprobs { token_logprobs: Some(values), .. } => values.into_iter().map(known).collect(),
            // A server that gives no logprobs at all gives none; a list of another length is a mistake.
            _ => vec![None; ids.len()],
        };
        if values.len() != ids.len() {
            return Err(LengthMismatch { ids: ids.len(), logprobs: values.len(), versions: ids.len() }.into());
        }
        self.seen += ids.len();
        self.last = ids.last().copied().or(self.last);
        *out = Increment { ids, logprobs: values, version: None, top };
        Ok(())
    }

    fn end(&self, choice: &Choice<'_>, reason: &str) -> End {
        let told = self.asked.experts_from.zip(choice.routed_experts.as_deref());
        let experts = told.and_then(|(from, text)| {
            accepted(npy(text, Expected { from, total: self.asked.prompt + self.seen }))
        });
        let versions = choice.weight_versions.as_ref().map(|spans| spans.iter().map(Span::read).collect());
        End { versions, experts, ..ending(reason, choice.stop_reason.as_ref(), self.last).into() }
    }
}

impl Span<'_> {
    pub(super) fn read(&self) -> VersionSpan {
        VersionSpan { version: Version::new(&*self.version), start: self.start, end: self.end }
    }
}

/// The sampled token is the first of its alternatives, whatever its rank.
fn alternatives(told: Vec<Alternative>) -> Vec<(TokenId, f32)> {
    let mut top: Vec<(TokenId, f32)> =
        told.into_iter().filter_map(|one| Some((one.token_id, known(one.logprob)?))).collect();
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    top.dedup_by_key(|(id, _)| *id);
    top
}

/// vLLM's finish reasons.
pub(super) fn ending(reason: &str, stop: Option<&StopReason<'_>>, last: Option<TokenId>) -> Ending {
    match (reason, stop) {
        ("stop" | "tool_calls", Some(StopReason::Token(id))) => Ending::Stop(StopBy::Token(*id)),
        ("stop" | "tool_calls", Some(StopReason::Text(text))) => {
            Ending::Stop(StopBy::Text(text.clone().into_owned()))
        }
        ("stop" | "tool_calls", None) => {
            Ending::Stop(last.map_or(StopBy::Other(reason.to_owned()), StopBy::Token))
        }
        ("length", _) => Ending::Length,
        ("abort", _) => Ending::Aborted,
        ("error", _) => Ending::Failed(EngineError::Unavailable { reason: "it ended with an error".into() }),
        (other, _) => Ending::Stop(StopBy::Other(other.to_owned())),
    }
}

impl Reader for Reply {
    fn read(&mut self, data: &[u8], out: &mut Increment) -> Result<Option<End>, EngineError> {
        let poisoned = |reason: String| EngineError::Poisoned { reason };
        let Chunk { choices, usage, error } = serde_json::from_slice(data)
            .map_err(|error| poisoned(format!("it is no reply of vLLM: {error}")))?;
        if let Some(error) = error {
            return Err(error.failure());
        }
        if let Some(mut choice) = choices.into_iter().next() {
            let (ids, logprobs) = (choice.token_ids.take(), choice.logprobs.take());
            self.tokens(ids.unwrap_or_default(), logprobs.unwrap_or_default(), out)?;
            if let Some(reason) = choice.finish_reason.take() {
                self.end = Some(self.end(&choice, &reason));
            }
        }
        if let Some(usage) = usage {
            if self.end.is_some() && usage.completion_tokens != self.seen {
                let (told, seen) = (usage.completion_tokens, self.seen);
                return Err(poisoned(format!("it counts {told} tokens and sent {seen}")));
            }
            if let Some(end) = &mut self.end {
                end.cached_tokens = usage.cached();
            }
        }
        Ok(self.end.clone())
    }

    fn tokens(&self) -> usize {
        self.seen
    }
}

impl Usage {
    pub(super) fn cached(&self) -> Option<u32> {
        self.prompt_tokens_details.as_ref()?.cached_tokens
    }
}
