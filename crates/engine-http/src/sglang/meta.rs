//! What SGLang tells of a generation: `meta_info`, the same on `/generate` and on its chat endpoint.

use std::borrow::Cow;

use serde::Deserialize;
use verbatim_engine::{End, Ending, EngineError, StopBy, VersionSpan};
use verbatim_tokens::{Speculation, TokenId, Version};

use crate::ExpertsShape;
use crate::experts::{Expected, accepted, bare, layered};
use crate::failure::by_status;
use crate::pairs::Pairs;
use crate::wire::Asked;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default)]
    pub(crate) finish_reason: Option<FinishReason<'a>>,
    #[serde(default)]
    pub(crate) completion_tokens: Option<usize>,
    #[serde(default)]
    pub(crate) prompt_tokens: Option<usize>,
    #[serde(default)]
    cached_tokens: Option<u32>,
    #[serde(default)]
    num_retractions: Option<u32>,
    #[serde(borrow, default)]
    pub(crate) weight_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    weight_versions: Option<Vec<Span<'a>>>,
    #[serde(default)]
    pub(crate) output_token_logprobs: Option<Pairs>,
    #[serde(default)]
    pub(crate) output_top_logprobs: Option<Vec<Option<Pairs>>>,
    #[serde(borrow, default)]
    pub(crate) routed_experts: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) indexer_topk: Option<Cow<'a, str>>,
    #[serde(default)]
    indexer_topk_num_layers: Option<usize>,
    #[serde(default)]
    spec_num_correct_drafts: Option<u32>,
    #[serde(default)]
    spec_num_proposed_drafts: Option<u32>,
    #[serde(default)]
    spec_verify_ct: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Span<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
    start: usize,
    end: usize,
}

/// SGLang's finish reason.
#[derive(Debug, Deserialize)]
pub(crate) struct FinishReason<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    matched: Option<Matched<'a>>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
    #[serde(default)]
    status_code: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Matched<'a> {
    Token(TokenId),
    Tokens(Vec<TokenId>),
    #[serde(borrow)]
    Text(Cow<'a, str>),
}

impl FinishReason<'_> {
    /// How the attempt ended; `last` is its last token.
    pub(crate) fn ending(&self, last: Option<TokenId>) -> Ending {
        match &*self.r#type {
            "stop" => match &self.matched {
                // The sampler met NaN and put a stop token in the place of what it could not sample.
                Some(Matched::Text(text)) if text == "NaN happened" => {
                    Ending::Failed(EngineError::Poisoned { reason: "the sampler met NaN".into() })
                }
                Some(Matched::Text(text)) => Ending::Stop(StopBy::Text(text.clone().into_owned())),
                Some(Matched::Token(id)) => Ending::Stop(StopBy::Token(*id)),
                Some(Matched::Tokens(ids)) => match ids.last() {
                    Some(id) => Ending::Stop(StopBy::Token(*id)),
                    None => Ending::Stop(StopBy::Other("stop".into())),
                },
                None => Ending::Stop(last.map_or(StopBy::Other("stop".into()), StopBy::Token)),
            },
            // The chat endpoint overwrites the reason once its tool parser found a call.
            "tool_calls" => Ending::Stop(last.map_or(StopBy::Other("tool_calls".into()), StopBy::Token)),
            "length" => Ending::Length,
            "abort" => match self.status_code {
                Some(status) => {
                    let message = self.message.as_deref().unwrap_or("aborted").to_owned();
                    Ending::Failed(by_status(status, message))
                }
                None => Ending::Aborted,
            },
            other => Ending::Stop(StopBy::Other(other.to_owned())),
        }
    }
}

impl Meta<'_> {
    /// Whether the attempt was aborted, by request or in a queue.
    pub(crate) fn is_abort(&self) -> bool {
        self.finish_reason.as_ref().is_some_and(|reason| reason.r#type == "abort")
    }

    /// The end of a reply of `seen` tokens; `shape` is that of the model's routed experts.
    pub(crate) fn end(&self, ending: Ending, asked: &Asked, seen: usize, shape: Option<ExpertsShape>) -> End {
        let told = asked.experts_from.zip(self.routed_experts.as_deref());
        let experts = told.and_then(|(from, text)| {
            let shape = shape.ok_or_else(|| "their shape is not known".to_owned());
            accepted(shape.and_then(|shape| bare(text, shape, Expected { from, total: asked.prompt + seen })))
        });
        let told = self.indexer_topk.as_deref().filter(|_| asked.indexer);
        let indexer = told.and_then(|text| {
            let layers = self.indexer_topk_num_layers.ok_or_else(|| "its layers are not told".to_owned());
            accepted(layers.and_then(|layers| layered(text, layers, asked.prompt + seen)))
        });
        End {
            cached_tokens: self.cached_tokens,
            versions: self.spans(),
            experts,
            indexer,
            speculation: self.speculation(),
            retractions: self.num_retractions.unwrap_or_default(),
            ..ending.into()
        }
    }

    /// The spans of exact versions, if the server has them.
    fn spans(&self) -> Option<Vec<VersionSpan>> {
        let spans = self.weight_versions.as_ref()?.iter();
        Some(
            spans
                .map(|span| VersionSpan {
                    version: Version::new(&*span.version),
                    start: span.start,
                    end: span.end,
                })
                .collect(),
        )
    }

    fn speculation(&self) -> Option<Speculation> {
        Some(Speculation {
            proposed: self.spec_num_proposed_drafts?,
            accepted: self.spec_num_correct_drafts.unwrap_or_default(),
            verified: self.spec_verify_ct.unwrap_or_default(),
        })
    }
}
