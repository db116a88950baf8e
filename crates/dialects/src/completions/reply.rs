//! A reply, whole or in chunks.

use std::collections::BTreeMap;

use serde::Serialize;
use verbatim_events::Finish;

use crate::chat::Usage;

/// What a completion's id begins with.
const OBJECT: &str = "text_completion";

/// `text_completion`, whole.
#[derive(Clone, Debug, Serialize)]
pub struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Usage,
}

#[derive(Clone, Debug, Serialize)]
struct Choice<'a> {
    index: u32,
    text: &'a str,
    logprobs: Option<Logprobs>,
    finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ids: Option<Vec<u32>>,
}

/// What was sampled, token by token.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Logprobs {
    /// Each token's text; U+FFFD where it is part of a character.
    pub tokens: Vec<String>,
    /// Each token's logprob; `null` where the engine gave none.
    pub token_logprobs: Vec<Option<f32>>,
    /// Alternatives by their text, if they were asked for.
    pub top_logprobs: Option<Vec<BTreeMap<String, f32>>>,
    /// Where each token's text begins, in characters from the reply's first.
    pub text_offset: Vec<usize>,
}

/// A stretch of a reply as it is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spelt {
    /// The text.
    pub text: String,
    /// Its tokens, if they were asked for.
    pub logprobs: Option<Logprobs>,
    /// Its ids, if they were asked for.
    pub token_ids: Option<Vec<u32>>,
}

impl<'a> Completion<'a> {
    /// The reply `id` that says this.
    pub fn new(
        id: &'a str,
        created: u64,
        model: &'a str,
        said: &'a Spelt,
        finish: Finish,
        usage: Usage,
    ) -> Self {
        Self { id, object: OBJECT, created, model, choices: [choice(said, Some(finish))], usage }
    }
}

fn choice(said: &Spelt, finish: Option<Finish>) -> Choice<'_> {
    let finish_reason = finish.map(|finish| match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
    });
    let (logprobs, token_ids) = (said.logprobs.clone(), said.token_ids.clone());
    Choice { index: 0, text: &said.text, logprobs, finish_reason, token_ids }
}

/// Makes the chunks of one reply, each the JSON text of one server-sent event.
#[derive(Clone, Debug)]
pub struct Chunks {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<Usage>>,
}

impl Chunks {
    /// Of the reply `id`.
    pub fn new(id: String, created: u64, model: String, include_usage: bool) -> Self {
        Self { id, created, model, include_usage }
    }

    /// More was said.
    pub fn more(&self, said: &Spelt) -> String {
        self.chunk(vec![choice(said, None)], None)
    }

    /// The last stretch, which may be empty.
    pub fn finished(&self, said: &Spelt, finish: Finish) -> String {
        self.chunk(vec![choice(said, Some(finish))], None)
    }

    /// What comes after it, if it was asked for.
    pub fn usage(&self, usage: Usage) -> Option<String> {
        self.include_usage.then(|| self.chunk(Vec::new(), Some(usage)))
    }

    fn chunk(&self, choices: Vec<Choice<'_>>, usage: Option<Usage>) -> String {
        let Self { id, created, model, include_usage } = self;
        let usage = include_usage.then_some(usage);
        let chunk = Chunk { id, object: OBJECT, created: *created, model, choices, usage };
        serde_json::to_string(&chunk).unwrap_or_default()
    }
}
