//! A whole reply.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use verbatim_chat::{Message, ToolCall};
use verbatim_events::Finish;

use crate::Counts;

/// `chat.completion`.
#[derive(Clone, Debug, Serialize)]
pub struct Completion<'a> {
    /// Unique among all replies.
    pub id: &'a str,
    /// Always `chat.completion`.
    pub object: &'static str,
    /// Seconds since the Unix epoch.
    pub created: u64,
    /// The model.
    pub model: &'a str,
    /// Exactly one.
    pub choices: [Choice<'a>; 1],
    /// Token counts.
    pub usage: Usage,
}

/// The reply itself.
#[derive(Clone, Debug, Serialize)]
pub struct Choice<'a> {
    /// Always 0.
    pub index: u32,
    /// What the model said.
    pub message: Spoken<'a>,
    /// Logprobs, if they were asked for.
    pub logprobs: Option<Logprobs>,
    /// `stop`, `length` or `tool_calls`.
    pub finish_reason: &'static str,
    /// What an engine of SGLang's kind tells of it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_info: Option<Value>,
}

/// An assistant's message on the wire.
#[derive(Clone, Debug, Serialize)]
pub struct Spoken<'a> {
    /// Always `assistant`.
    pub role: &'static str,
    /// Null where there is nothing but calls.
    pub content: Option<Cow<'a, str>>,
    /// Thinking, where there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<&'a str>,
    /// Always null; strict clients look for it.
    pub refusal: Option<()>,
    /// Calls, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call<'a>>,
}

/// A tool call on the wire.
#[derive(Clone, Debug, Serialize)]
pub struct Call<'a> {
    /// Its id.
    pub id: &'a str,
    /// Always `function`.
    pub r#type: &'static str,
    /// What is called.
    pub function: Function<'a>,
}

/// A called function on the wire.
#[derive(Clone, Debug, Serialize)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its arguments as the model wrote them.
    pub arguments: Cow<'a, str>,
}

/// Token counts. Prompt tokens are those the model read, the cached ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: usize,
    /// Tokens sampled.
    pub completion_tokens: usize,
    /// Their sum.
    pub total_tokens: usize,
    /// How many of those read the engine had cached.
    pub prompt_tokens_details: PromptDetails,
    /// How many of those sampled are reasoning.
    pub completion_tokens_details: CompletionDetails,
}

/// Details of tokens sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CompletionDetails {
    /// Tokens of reasoning, the marks around it among them.
    pub reasoning_tokens: usize,
}

/// Details of tokens read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PromptDetails {
    /// Tokens from the engine's prefix cache; 0 if it does not say.
    pub cached_tokens: u32,
}

impl Usage {
    /// Counts of one turn.
    pub fn new(counts: Counts) -> Self {
        Self {
            prompt_tokens: counts.prompt,
            completion_tokens: counts.sampled,
            total_tokens: counts.prompt + counts.sampled,
            prompt_tokens_details: PromptDetails { cached_tokens: counts.cached },
            completion_tokens_details: CompletionDetails { reasoning_tokens: counts.reasoning },
        }
    }
}

/// Logprobs of a reply.
#[derive(Clone, Debug, Serialize)]
pub struct Logprobs {
    /// One entry a sampled token.
    pub content: Vec<TokenLogprob>,
}

/// One sampled token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenLogprob {
    /// Its text; U+FFFD where it is part of a character.
    pub token: String,
    /// Its logprob; -9999 where the engine gave none, as OpenAI does.
    pub logprob: f32,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Alternatives, best first.
    pub top_logprobs: Vec<Alternative>,
}

/// One alternative.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alternative {
    /// Its text.
    pub token: String,
    /// Its logprob.
    pub logprob: f32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl<'a> Completion<'a> {
    /// The reply that says `message`.
    pub fn new(
        id: &'a str,
        created: u64,
        model: &'a str,
        message: &'a Message,
        finish: Finish,
        usage: Usage,
        logprobs: Option<Vec<TokenLogprob>>,
    ) -> Self {
        let choice = Choice {
            index: 0,
            message: Spoken::of(message),
            logprobs: logprobs.map(|content| Logprobs { content }),
            finish_reason: finish_reason(finish, !message.tool_calls.is_empty()),
            meta_info: None,
        };
        Self { id, object: "chat.completion", created, model, choices: [choice], usage }
    }
}

impl<'a> Spoken<'a> {
    fn of(message: &'a Message) -> Self {
        let text = message.content.text();
        let silent = text.is_empty() && !message.tool_calls.is_empty();
        Self {
            role: "assistant",
            content: (!silent).then_some(text),
            reasoning_content: message.reasoning.as_deref(),
            refusal: None,
            tool_calls: message.tool_calls.iter().map(Call::of).collect(),
        }
    }
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall) -> Self {
        Self {
            id: call.id.as_deref().unwrap_or_default(),
            r#type: "function",
            function: Function { name: &call.name, arguments: call.arguments.text() },
        }
    }
}

/// A length cut wins over calls: what was cut is not complete.
pub(super) fn finish_reason(finish: Finish, calls: bool) -> &'static str {
    match (finish, calls) {
        (Finish::Length, _) => "length",
        (Finish::Stop, true) => "tool_calls",
        (Finish::Stop, false) => "stop",
    }
}
