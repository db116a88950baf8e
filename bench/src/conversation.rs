//! A conversation as its client keeps it: the bytes of every message, sent again each turn.
//!
//! The invariant: an earlier message is never spelled anew, and an assistant's message comes back
//! as the server spelled it.

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// A growing request body.
pub(crate) struct Conversation {
    head: &'static str,
    /// The messages, each followed by a comma.
    messages: Vec<u8>,
    /// Tokens that the session's line holds, as the last reply counts them.
    pub(crate) tokens: usize,
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    usage: Usage,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: usize,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Delta>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Delta {
    delta: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

impl Conversation {
    /// Nothing said yet.
    pub(crate) fn new(stream: bool) -> Self {
        let head = match stream {
            true => r#"{"model":"mock","stream":true,"stream_options":{"include_usage":true},"messages":["#,
            false => r#"{"model":"mock","messages":["#,
        };
        Self { head, messages: Vec::new(), tokens: 0 }
    }

    /// The user says something more.
    pub(crate) fn say(&mut self, text: &str) {
        self.push(json!({"role": "user", "content": text}).to_string().as_bytes());
    }

    /// The whole request.
    pub(crate) fn body(&self) -> Bytes {
        self.body_with("")
    }

    /// The whole request with one more user message, which is not kept.
    pub(crate) fn body_asking(&self, text: &str) -> Bytes {
        self.body_with(&format!("{},", json!({"role": "user", "content": text})))
    }

    fn body_with(&self, more: &str) -> Bytes {
        let mut body = Vec::with_capacity(self.head.len() + self.messages.len() + more.len() + 2);
        body.extend_from_slice(self.head.as_bytes());
        body.extend_from_slice(&self.messages);
        body.extend_from_slice(more.as_bytes());
        body.pop();
        body.extend_from_slice(b"]}");
        body.into()
    }

    /// Takes a whole reply's message in.
    ///
    /// # Errors
    /// If it is no completion.
    pub(crate) fn hear(&mut self, reply: &[u8]) -> anyhow::Result<()> {
        let completion: Completion<'_> = serde_json::from_slice(reply)
            .with_context(|| format!("not a completion: {}", String::from_utf8_lossy(reply)))?;
        self.tokens = completion.usage.total_tokens;
        self.push(completion.choices[0].message.get().as_bytes());
        Ok(())
    }

    /// Takes a streamed reply in, as an SDK adds its chunks up.
    ///
    /// # Errors
    /// If it is no stream of chunks, or it does not end.
    pub(crate) fn hear_stream(&mut self, reply: &[u8]) -> anyhow::Result<()> {
        let text = std::str::from_utf8(reply)?;
        let (mut content, mut usage, mut done) = (String::new(), None, false);
        for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            if data == "[DONE]" {
                done = true;
                break;
            }
            let chunk: Chunk = serde_json::from_str(data).with_context(|| format!("not a chunk: {data}"))?;
            content.extend(chunk.choices.into_iter().filter_map(|choice| choice.delta.content));
            usage = chunk.usage.or(usage);
        }
        ensure!(done, "the stream did not end: {text}");
        self.tokens = usage.context("the stream had no usage")?.total_tokens;
        self.push(json!({"role": "assistant", "content": content}).to_string().as_bytes());
        Ok(())
    }

    fn push(&mut self, message: &[u8]) {
        self.messages.extend_from_slice(message);
        self.messages.push(b',');
    }
}
