//! Replies that the engine reads itself.

use verbatim_chat::{Content, Message};
use verbatim_families::{Parsed, Parser, Part};
use verbatim_tokens::TokenId;

/// A parser that reads nothing: the engine's message takes the place of what it would have read.
pub(crate) struct Unread;

impl Parser for Unread {
    fn push(&mut self, _: &[TokenId], _: &mut Vec<Part>) {}

    fn finish(self: Box<Self>, _: &mut Vec<Part>) -> Parsed {
        Parsed {
            message: Message::new(verbatim_chat::Role::Assistant, ""),
            flaws: Vec::new(),
            reasoning_tokens: 0,
        }
    }
}

/// Gives every call an id: agents answer calls by it.
pub(crate) fn name_calls(message: &mut Message, prefix: &str) {
    for (index, call) in message.tool_calls.iter_mut().enumerate() {
        call.id.get_or_insert_with(|| format!("{prefix}{index:02}"));
    }
}

/// The parts that a message is told in.
pub(crate) fn parts_of(message: &Message) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(message.reasoning.clone().map(Part::Reasoning));
    if let Content::Text(text) = &message.content {
        parts.extend((!text.is_empty()).then(|| Part::Content(text.clone())));
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        parts.push(Part::CallStarted {
            index,
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone(),
        });
        parts.push(Part::CallArguments { index, text: call.arguments.text().into_owned() });
        parts.push(Part::CallEnded { index });
    }
    parts
}
