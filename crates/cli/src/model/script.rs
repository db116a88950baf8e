//! What the simulated engine says to an agent that has a task: lines of a file, each where the conversation has come
//! to it.
//!
//! The invariant: what is said follows from the prompt alone, so that a retry, a side call or a sub-agent gets what
//! belongs to it, however many requests came before.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::json;
use verbatim_chat::{Arguments, Message, Role, Setup, StartState, ToolCall};
use verbatim_engine::Prompt;
use verbatim_engine_sim::{Line, Script};
use verbatim_families::{Family, Scene};

/// One line of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Texts that are all in the prompt where this is said.
    #[serde(default)]
    when: Vec<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    calls: Vec<Called>,
}

/// A call; its arguments are spelt as they stand here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    name: String,
    arguments: Box<serde_json::value::RawValue>,
}

/// The rules of a file; where none applies, what `otherwise` says.
pub(super) struct Told<S> {
    family: Arc<dyn Family>,
    rules: Vec<(Vec<String>, Message)>,
    otherwise: S,
}

impl<S: Script> Told<S> {
    /// Reads a file of one JSON object a line.
    ///
    /// # Errors
    /// If it cannot be read, or a line is no rule or nothing that the family could say.
    pub(super) fn read(path: &Path, family: Arc<dyn Family>, otherwise: S) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = || format!("{}:{}", path.display(), at + 1);
            let rule: Rule = serde_json::from_str(line).with_context(place)?;
            let when = rule.when.clone();
            let message = message(rule);
            spell(family.as_ref(), "", &message).with_context(place)?;
            rules.push((when, message));
        }
        Ok(Self { family, rules, otherwise })
    }
}

impl<S: Script> Script for Told<S> {
    /// The last line that applies is the one that the conversation has come to.
    fn line(&self, prompt: &Prompt, random: &mut ChaCha8Rng) -> Line {
        let text = self.family.tokenizer().text(&prompt.ids);
        let applies = |(when, _): &&(Vec<String>, Message)| when.iter().all(|part| text.contains(part));
        let said = self.rules.iter().rev().find(applies).and_then(|(_, message)| {
            let tail = text.char_indices().rev().nth(40).map_or(text.as_str(), |(at, _)| &text[at..]);
            spell(self.family.as_ref(), tail, message).ok()
        });
        match said {
            Some(ids) => Line { ids, fault: None },
            None => self.otherwise.line(prompt, random),
        }
    }
}

fn message(rule: Rule) -> Message {
    let calls = rule.calls.into_iter().map(|call| ToolCall {
        id: None,
        name: call.name,
        arguments: Arguments::Text(call.arguments.get().to_owned()),
    });
    Message {
        reasoning: rule.reasoning,
        tool_calls: calls.collect(),
        ..Message::new(Role::Assistant, rule.content.as_deref().unwrap_or_default())
    }
}

/// What a model would sample to say a message after a prompt that ends so.
fn spell(
    family: &dyn Family,
    tail: &str,
    message: &Message,
) -> anyhow::Result<Vec<verbatim_tokens::TokenId>> {
    let ends = tail.trim_end();
    let start = if ends.ends_with("<think>") { StartState::Reasoning } else { StartState::Content };
    // A prompt that closed the block says that the model does not think.
    let silent = ends.ends_with("</think>");
    let template = if silent { json!({"enable_thinking": false}) } else { json!({}) };
    let setup = Setup { tools: Vec::new(), template: template.as_object().cloned().unwrap_or_default() };
    let said = Message { reasoning: message.reasoning.clone().filter(|_| !silent), ..message.clone() };
    Ok(family.reply(Scene { setup: &setup, opened: 0 }, start, &said)?)
}
