//! A whole reply.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use verbatim_chat::Message;
use verbatim_events::Finish;

use super::message::UNPARSED;
use crate::Counts;
use crate::seal::seal;

/// `message`.
#[derive(Debug, Serialize)]
pub struct Reply<'a> {
    id: &'a str,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: Option<&'static str>,
    stop_sequence: Option<&'a str>,
    usage: Usage,
}

/// A content block.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Thinking { thinking: &'a str, signature: String },
    Text { text: Cow<'a, str> },
    ToolUse { id: &'a str, name: &'a str, input: Box<RawValue> },
}

/// Tokens read are told apart by whether the engine had cached them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Usage {
    input_tokens: usize,
    cache_creation_input_tokens: u32,
    cache_read_input_tokens: u32,
    output_tokens: usize,
    output_tokens_details: OutputDetails,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct OutputDetails {
    thinking_tokens: usize,
}

impl Usage {
    pub(super) fn of(counts: Counts) -> Self {
        Self {
            input_tokens: counts.prompt.saturating_sub(counts.cached as usize),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: counts.cached,
            output_tokens: counts.sampled,
            output_tokens_details: OutputDetails { thinking_tokens: counts.reasoning },
        }
    }
}

/// Why a turn ended, and the stop sequence that ended it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Stop<'a> {
    pub(super) stop_reason: Option<&'static str>,
    pub(super) stop_sequence: Option<&'a str>,
}

impl<'a> Stop<'a> {
    /// A length cut wins over calls: what was cut is not complete.
    pub(super) fn of(finish: Finish, stop: Option<&'a str>, calls: bool) -> Self {
        let reason = match (finish, stop, calls) {
            (Finish::Length, _, _) => "max_tokens",
            (Finish::Stop, Some(_), _) => "stop_sequence",
            (Finish::Stop, None, true) => "tool_use",
            (Finish::Stop, None, false) => "end_turn",
        };
        let stop = stop.filter(|_| finish == Finish::Stop);
        Self { stop_reason: Some(reason), stop_sequence: stop }
    }
}

impl<'a> Reply<'a> {
    /// The reply `id` that says `message`; `stop` is the stop sequence that ended it.
    pub fn new(
        id: &'a str,
        model: &'a str,
        message: &'a Message,
        shows_thinking: bool,
        finish: Finish,
        stop: Option<&'a str>,
        counts: Counts,
    ) -> Self {
        let mut content = Vec::new();
        content.extend(message.reasoning.as_deref().map(|thinking| Block::Thinking {
            thinking: if shows_thinking { thinking } else { "" },
            signature: seal(digits(id), 0, thinking),
        }));
        let text = message.content.text();
        content.extend((!text.is_empty()).then_some(Block::Text { text }));
        content.extend(message.tool_calls.iter().map(|call| Block::ToolUse {
            id: call.id.as_deref().unwrap_or_default(),
            name: &call.name,
            input: input(&call.arguments.text()),
        }));
        let Stop { stop_reason, stop_sequence } = Stop::of(finish, stop, !message.tool_calls.is_empty());
        Self { content, stop_reason, stop_sequence, ..Self::begun(id, model, Usage::of(counts)) }
    }

    /// A reply that is being made.
    pub(super) fn begun(id: &'a str, model: &'a str, usage: Usage) -> Self {
        let (stop_reason, stop_sequence, content) = (None, None, Vec::new());
        Self { id, r#type: "message", role: "assistant", model, content, stop_reason, stop_sequence, usage }
    }
}

/// The object that arguments are; arguments that are none stand under one key, so that they come back as they were.
fn input(arguments: &str) -> Box<RawValue> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let object = serde_json::from_str::<&RawValue>(text).ok().filter(|raw| raw.get().starts_with('{'));
    let object = object.map(ToOwned::to_owned);
    object
        .or_else(|| RawValue::from_string(json!({UNPARSED: arguments}).to_string()).ok())
        .unwrap_or_default()
}

/// The digits of a reply's id.
pub(super) fn digits(id: &str) -> &str {
    id.strip_prefix(super::PREFIX).unwrap_or(id)
}
