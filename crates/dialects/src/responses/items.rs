//! Items of a reply.
//!
//! The invariant: an item's id ends in the digits of its reply and in its place among the items of its kind, so
//! that no two items share one and the reply can be found again by each.

use serde::Serialize;
use verbatim_chat::Message;

use crate::seal::seal;

/// One element of `output`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    /// Thinking.
    Reasoning {
        id: String,
        summary: Vec<Text>,
        content: Vec<Text>,
        encrypted_content: Option<String>,
        status: &'static str,
    },
    /// Text.
    Message { id: String, role: &'static str, content: Vec<Text>, status: &'static str },
    /// A call.
    FunctionCall { id: String, call_id: String, name: String, arguments: String, status: &'static str },
}

/// One text of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Text {
    r#type: &'static str,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<[(); 0]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

pub(super) const IN_PROGRESS: &str = "in_progress";
pub(super) const COMPLETED: &str = "completed";
pub(super) const INCOMPLETE: &str = "incomplete";

impl Text {
    /// What an assistant says.
    pub(super) fn output(text: String) -> Self {
        Self { r#type: "output_text", text, annotations: Some([]), logprobs: Some([]) }
    }

    /// What it thinks.
    pub(super) fn reasoning(text: String) -> Self {
        Self { r#type: "reasoning_text", text, annotations: None, logprobs: None }
    }

    /// What it thinks, as those are told who ask for a summary.
    pub(super) fn summary(text: String) -> Self {
        Self { r#type: "summary_text", text, annotations: None, logprobs: None }
    }
}

/// How reasoning is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinking {
    /// Also as a summary.
    pub(super) summarised: bool,
    /// Also sealed.
    pub(super) sealed: bool,
}

impl Item {
    pub(super) fn reasoning(digits: &str, block: usize, text: String, told: Thinking) -> Self {
        Self::Reasoning {
            id: numbered("rs", digits, block),
            summary: told.summarised.then(|| Text::summary(text.clone())).into_iter().collect(),
            encrypted_content: told.sealed.then(|| seal(digits, block, &text)),
            content: vec![Text::reasoning(text)],
            status: COMPLETED,
        }
    }

    pub(super) fn message(digits: &str, at: usize, text: String) -> Self {
        let content = vec![Text::output(text)];
        Self::Message { id: numbered("msg", digits, at), role: "assistant", content, status: COMPLETED }
    }

    pub(super) fn call(digits: &str, index: usize, call_id: &str, name: &str, arguments: String) -> Self {
        Self::FunctionCall {
            id: format!("fc_{digits}_{index}"),
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            arguments,
            status: COMPLETED,
        }
    }

    /// The item as it is shown before anything of it is said.
    pub(super) fn begun(&self) -> Self {
        let mut begun = self.clone();
        match &mut begun {
            Self::Reasoning { summary, content, encrypted_content, .. } => {
                summary.clear();
                content.clear();
                *encrypted_content = None;
            }
            Self::Message { content, .. } => content.clear(),
            Self::FunctionCall { arguments, .. } => arguments.clear(),
        }
        begun.set_status(IN_PROGRESS);
        begun
    }

    pub(super) fn id(&self) -> &str {
        match self {
            Self::Reasoning { id, .. } | Self::Message { id, .. } | Self::FunctionCall { id, .. } => id,
        }
    }

    pub(super) fn set_status(&mut self, to: &'static str) {
        match self {
            Self::Reasoning { status, .. }
            | Self::Message { status, .. }
            | Self::FunctionCall { status, .. } => *status = to,
        }
    }
}

/// The first of its kind bears no number.
fn numbered(kind: &str, digits: &str, at: usize) -> String {
    match at {
        0 => format!("{kind}_{digits}"),
        _ => format!("{kind}_{digits}_{at}"),
    }
}

/// The items that say a message.
pub(super) fn of_message(digits: &str, message: &Message, told: Thinking) -> Vec<Item> {
    let mut items = Vec::new();
    items.extend(message.reasoning.clone().map(|text| Item::reasoning(digits, 0, text, told)));
    let text = message.content.text();
    let silent = items.is_empty() && message.tool_calls.is_empty();
    items.extend((silent || !text.is_empty()).then(|| Item::message(digits, 0, text.into_owned())));
    for (index, call) in message.tool_calls.iter().enumerate() {
        let id = call.id.as_deref().unwrap_or_default();
        items.push(Item::call(digits, index, id, &call.name, call.arguments.text().into_owned()));
    }
    items
}
