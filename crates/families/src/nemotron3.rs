//! NVIDIA Nemotron 3.
//!
//! Rendered as the official template renders, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. `truncate_history_thinking` is fixed to `false`, which the template knows: think blocks stay.
//! 2. A tool's result that comes first opens a user's turn; the official template leaves its opener
//!    out.
//!
//! The template writes the newline after a think block, and the one before a call, only once where
//! nothing stands between them.

use std::borrow::Cow;

use serde_json::{Map, Value};
use verbatim_chat::{Message, Role, StartState};

use crate::chatml::{self, ASSISTANT, CODER_RULES, END, STOP};
use crate::native::{ALL_ROLES, Format, Messages, Off, Page, Said, Switch, Table, Thought};
use crate::parser::calls::QWEN_CODER;
use crate::parser::{BARE, Blank, Calling, Gaps, Thinking};
use crate::python::{Node, Style, display, dumps, rstrip, strip};
use crate::{RenderError, qwen3};

/// The family.
#[derive(Debug)]
pub(crate) struct Nemotron3;

/// The family.
pub(crate) const FORMAT: Nemotron3 = Nemotron3;

/// Its rules.
const TABLE: Table = Table {
    name: "nemotron3",
    markers: qwen3::TABLE.markers,
    assistant: ASSISTANT,
    end: END,
    stop: STOP,
    thinking: Some(&Thinking {
        after_open: 1,
        before_close: 1,
        after_close: 1,
        always_after: false,
        silent: Some("<think></think>"),
        ..BARE
    }),
    calling: Some(&Calling { format: QWEN_CODER, gaps: GAPS }),
    switch: Switch {
        on: ("<think>\n", StartState::Reasoning),
        off: "<think></think>",
        by: Off::Falsy,
        ..Switch::NONE
    },
    append: ALL_ROLES,
    fixed: &[("truncate_history_thinking", false)],
    parsers: [&["nemotron_3"], &["qwen3_coder"]],
};

const GAPS: Gaps = Gaps { first: 1, alone: 1, between: 1, last: 1, blank: Blank::Content };

impl Format for Nemotron3 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let first = messages.first().filter(|message| message.role == Role::System);
        let text = first.map(|message| message.content.text()).unwrap_or_default();
        chatml::open(Role::System, page);
        page.text(&text, 0);
        if !page.scene.setup.tools.is_empty() {
            page.frame(if text.is_empty() { "" } else { "\n\n" });
            page.frame("# Tools\n\nYou have access to the following functions:\n\n<tools>");
            for tool in &page.scene.setup.tools {
                declare(tool.0.get("function").unwrap_or(&tool.0), page);
            }
            page.frame("\n</tools>");
            page.frame(CODER_RULES);
        }
        chatml::close(page);
        Ok(usize::from(first.is_some()))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        match message.role {
            Role::Tool => {
                let lines = ["\n", "<tool_response>\n", "\n</tool_response>\n"];
                chatml::result(messages, at, &text, lines, page);
            }
            role => chatml::turn(role, &text, at, page),
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        let content = message.content.text();
        let reasoning = message.reasoning.as_deref().filter(|text| !strip(text).is_empty());
        let spelled = content.contains("<think>") || content.contains("</think>");
        if reasoning.is_none() && spelled {
            // A block that is spelled out stays as it is.
            return Said { thought: Thought::Nothing, content: Cow::Owned(strip(&content).to_owned()) };
        }
        Said {
            thought: reasoning.map_or(Thought::Silent, |text| Thought::Block(Cow::Borrowed(text))),
            content: Cow::Owned(rstrip(&content).to_owned()),
        }
    }
}

/// A tool's declaration in tags. What stands in it is text, whatever it spells.
fn declare(tool: &Value, page: &mut Page<'_>) {
    let field = |of: &Value, name: &str| of.get(name).cloned();
    let description = |of: &Value| field(of, "description").map(|text| strip(&printed(&text)).to_owned());
    page.frame("\n<function>");
    tagged("name", &field(tool, "name").as_ref().map(printed).unwrap_or_default(), page);
    if let Some(text) = description(tool) {
        tagged("description", &text, page);
    }
    page.frame("\n<parameters>");
    let parameters = tool.get("parameters");
    let properties =
        parameters.and_then(|parameters| parameters.get("properties")).and_then(Value::as_object);
    for (name, fields) in properties.into_iter().flatten() {
        page.frame("\n<parameter>");
        tagged("name", name, page);
        if let Some(kind) = fields.get("type") {
            tagged("type", &printed(kind), page);
        }
        if let Some(text) = description(fields) {
            tagged("description", &text, page);
        }
        if let Some(choices) = fields.get("enum") {
            tagged("enum", &dumped(choices), page);
        }
        others(fields.as_object(), &["name", "type", "description", "enum"], page);
        page.frame("\n</parameter>");
    }
    others(parameters.and_then(Value::as_object), &["type", "properties", "required"], page);
    if let Some(required) = parameters.and_then(|parameters| parameters.get("required")) {
        tagged("required", &dumped(required), page);
    }
    page.frame("\n</parameters>");
    others(tool.as_object(), &["type", "name", "description", "parameters"], page);
    page.frame("\n</function>");
}

/// The keys that have no tag of their own, each in one of its name.
fn others(map: Option<&Map<String, Value>>, handled: &[&str], page: &mut Page<'_>) {
    for (name, value) in map.into_iter().flatten().filter(|(name, _)| !handled.contains(&name.as_str())) {
        let nested = value.is_object() || value.is_array();
        tagged(name, &if nested { dumped(value) } else { printed(value) }, page);
    }
}

fn tagged(name: &str, text: &str, page: &mut Page<'_>) {
    page.declared(&format!("\n<{name}>{text}</{name}>"));
}

fn printed(value: &Value) -> String {
    let mut out = String::new();
    display(&Node::from(value), &mut out);
    out
}

fn dumped(value: &Value) -> String {
    let mut out = String::new();
    dumps(&Node::from(value), &Style::default(), &mut out);
    out
}
