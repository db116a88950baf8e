//! A streamed reply, chunk by chunk.

use serde::Serialize;
use verbatim_chat::Message;
use verbatim_events::Finish;

use super::reply::{Logprobs, TokenLogprob, Usage, finish_reason};

/// Makes the chunks of one reply, each the JSON text of one server-sent event.
#[derive(Clone, Debug)]
pub struct Chunks {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
    calls: bool,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Delta<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<Usage>>,
}

#[derive(Serialize)]
struct Delta<'a> {
    index: u32,
    delta: Said<'a>,
    logprobs: Option<Logprobs>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallDelta<'a>>,
}

#[derive(Serialize)]
struct CallDelta<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl Chunks {
    /// Chunks of the reply `id`.
    pub fn new(id: String, created: u64, model: String, include_usage: bool) -> Self {
        Self { id, created, model, include_usage, calls: false }
    }

    /// The first chunk: who speaks.
    pub fn opened(&self) -> String {
        self.chunk(Said { role: Some("assistant"), content: Some(""), ..Said::default() }, None, None)
    }

    /// More content; `logprobs` of the tokens sampled since the last chunk, if they were asked for.
    pub fn content(&self, text: &str, logprobs: Option<Vec<TokenLogprob>>) -> String {
        self.chunk(Said { content: Some(text), ..Said::default() }, logprobs, None)
    }

    /// More reasoning.
    pub fn reasoning(&self, text: &str, logprobs: Option<Vec<TokenLogprob>>) -> String {
        self.chunk(Said { reasoning_content: Some(text), ..Said::default() }, logprobs, None)
    }

    /// A call begins.
    pub fn call(&mut self, index: usize, id: &str, name: &str) -> String {
        self.calls = true;
        let function = FunctionDelta { name: Some(name), arguments: "" };
        let call = CallDelta { index, id: Some(id), r#type: Some("function"), function };
        self.chunk(Said { tool_calls: vec![call], ..Said::default() }, None, None)
    }

    /// More of a call's arguments.
    pub fn arguments(&self, index: usize, text: &str) -> String {
        let function = FunctionDelta { name: None, arguments: text };
        let call = CallDelta { index, id: None, r#type: None, function };
        self.chunk(Said { tool_calls: vec![call], ..Said::default() }, None, None)
    }

    /// The whole reply as one chunk, as Miles' server streams it: content is there even if it is empty, every
    /// call has its place, and usage is told unasked.
    pub fn whole(&self, message: &Message, finish: Finish, usage: Usage) -> String {
        let calls = message.tool_calls.iter().enumerate();
        let text: Vec<_> = calls.clone().map(|(_, call)| call.arguments.text()).collect();
        let tool_calls = calls
            .zip(&text)
            .map(|((index, call), arguments)| CallDelta {
                index,
                id: call.id.as_deref(),
                r#type: Some("function"),
                function: FunctionDelta { name: Some(&call.name), arguments },
            })
            .collect();
        let content = message.content.text();
        let delta = Said {
            role: Some("assistant"),
            content: Some(&content),
            reasoning_content: message.reasoning.as_deref(),
            tool_calls,
        };
        let finish_reason = Some(finish_reason(finish, !message.tool_calls.is_empty()));
        self.write(vec![Delta { index: 0, delta, logprobs: None, finish_reason }], Some(Some(usage)))
    }

    /// The chunk that ends the choice, with the logprobs no other chunk carried.
    pub fn finished(&self, finish: Finish, logprobs: Option<Vec<TokenLogprob>>) -> String {
        self.chunk(Said::default(), logprobs, Some(finish_reason(finish, self.calls)))
    }

    /// The usage chunk, if it was asked for.
    pub fn usage(&self, usage: Usage) -> Option<String> {
        self.include_usage.then(|| self.write(Vec::new(), Some(Some(usage))))
    }

    fn chunk(
        &self,
        delta: Said<'_>,
        logprobs: Option<Vec<TokenLogprob>>,
        finish_reason: Option<&'static str>,
    ) -> String {
        let logprobs = logprobs.map(|content| Logprobs { content });
        let usage = self.include_usage.then_some(None);
        self.write(vec![Delta { index: 0, delta, logprobs, finish_reason }], usage)
    }

    fn write(&self, choices: Vec<Delta<'_>>, usage: Option<Option<Usage>>) -> String {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage,
        };
        // Strings, numbers and nulls: there is nothing in a chunk that JSON cannot hold.
        serde_json::to_string(&chunk).unwrap_or_default()
    }
}
