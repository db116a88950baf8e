//! Inkling.
//!
//! Its official renderer is a Python program that writes tokens (`inkling_renderer.py`). Rendered as
//! that program renders, but for these rules; rules 4 and 6 of [`crate::qwen3`] hold here too, so that
//! parts of text are one text, where the program gives each part its own frame:
//!
//! 1. An assistant's turn in which nothing was said has its opener and its end; the program leaves it
//!    out, although the prompt has opened it.
//! 2. A result is named by the calls of the turn before it, if it has no name of its own. The program
//!    looks further back.
//! 3. A tool that is declared without `function` around it is shown; the program fails.
//! 4. `enable_thinking` may not be `false`: how much is thought is what `reasoning_effort` says, a
//!    number from 0 to 0.99 or one of the words that SGLang has numbers for (Miles §4.2).
//!
//! The model writes what it thinks, says and calls as messages of their own. Arguments of calls are
//! spelled in history with their keys in order, as the program spells them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::{Arguments, Message, Role};

use crate::RenderError;
use crate::calls::object;
use crate::native::{ALL_ROLES, End, Format, Messages, Page, Said, Switch, Table};
use crate::parser::calls::Call;
use crate::parser::channels::{Channels, Kind, Stroke};
use crate::python::{Node, Style, dumps};

/// The family.
#[derive(Debug)]
pub(crate) struct Inkling;

/// The family.
pub(crate) const FORMAT: Inkling = Inkling;

const MODEL: &str = "<|message_model|>";
const SYSTEM: &str = "<|message_system|>";
const TEXT: &str = "<|content_text|>";
const THINKING: &str = "<|content_thinking|>";
const INVOKE: &str = "<|content_invoke_tool_json|>";
const END: &str = "<|end_message|>";

/// Its rules.
const TABLE: Table = Table {
    name: "inkling",
    markers: &[
        "<|message_user|>",
        SYSTEM,
        "<|message_tool|>",
        TEXT,
        THINKING,
        INVOKE,
        "<|content_xml|>",
        END,
    ],
    assistant: MODEL,
    end: End::Token("<|content_model_end_sampling|>", ""),
    stop: &["<|content_model_end_sampling|>", "<|endoftext|>"],
    thinking: None,
    calling: None,
    switch: Switch::NONE,
    append: ALL_ROLES,
    fixed: &[("enable_thinking", true)],
    parsers: [&["inkling"], &["inkling"]],
};

/// The words for efforts.
const EFFORTS: [(&str, f64); 6] =
    [("none", 0.0), ("minimal", 0.1), ("low", 0.2), ("medium", 0.7), ("high", 0.9), ("max", 0.99)];

impl Format for Inkling {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let tools = &page.scene.setup.tools;
        if !tools.is_empty() {
            page.frame("<|message_system|>tool_declare<|content_xml|>");
            page.declared(&canonical(&Node::List(tools.iter().map(|tool| declared(&tool.0)).collect())));
            page.frame(END);
        }
        let leading = messages.iter().take_while(|message| message.role == Role::System).count();
        for (at, message) in messages[..leading].iter().enumerate() {
            framed(SYSTEM, &message.content.text(), at, page);
        }
        let effort = effort(page)?;
        page.frame("<|message_system|><|content_text|>Thinking effort level: ");
        page.declared(&effort);
        page.frame(END);
        Ok(leading)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        match message.role {
            Role::Tool => {
                page.frame("<|message_tool|>");
                page.text(author(messages, at), at);
                page.frame(TEXT);
                page.text(&text, at);
                page.frame(END);
            }
            Role::System => framed(SYSTEM, &text, at, page),
            _ => framed("<|message_user|>", &text, at, page),
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }

    fn channels(&self) -> Option<&'static dyn Channels> {
        Some(&FORMAT)
    }
}

/// A message of a person. One without words is none.
fn framed(opener: &str, text: &str, at: usize, page: &mut Page<'_>) {
    if !text.is_empty() {
        page.frame(opener);
        page.frame(TEXT);
        page.text(text, at);
        page.frame(END);
    }
}

/// Whose result it is.
fn author<'m>(messages: Messages<'m>, at: usize) -> &'m str {
    let message = &messages.new[at];
    let called = || {
        let id = message.tool_call_id.as_deref()?;
        let calls = &messages.assistant(at)?.tool_calls;
        calls.iter().rev().find(|call| call.id.as_deref() == Some(id)).map(|call| call.name.as_str())
    };
    message.name.as_deref().filter(|name| !name.is_empty()).or_else(called).unwrap_or_default()
}

/// How much is thought, as Python prints it with two digits at most.
fn effort(page: &Page<'_>) -> Result<String, RenderError> {
    let given = match page.argument("reasoning_effort") {
        None | Some(Value::Null) => Some(0.9),
        Some(Value::Number(number)) => number.as_f64().filter(|effort| (0.0..=0.99).contains(effort)),
        Some(Value::String(word)) => {
            EFFORTS.iter().find(|(known, _)| known == word).map(|(_, effort)| *effort)
        }
        Some(_) => None,
    };
    let Some(effort) = given else {
        let value = page.argument("reasoning_effort").unwrap_or(&Value::Null);
        return Err(page.conflict("reasoning_effort", value, "a number from 0 to 0.99 or an effort's name"));
    };
    let digits = format!("{effort:.2}");
    Ok(digits.trim_end_matches('0').trim_end_matches('.').to_owned())
}

/// A tool as it is declared: four fields of it.
fn declared(tool: &Value) -> Node {
    let function = tool.get("function").unwrap_or(tool);
    let field = |of: &Value, name: &str, other: Value| {
        let given = of.get(name).filter(|value| crate::native::is_true(value)).cloned();
        (name.to_owned(), Node::from(&given.unwrap_or(other)))
    };
    Node::Map(vec![
        field(function, "description", Value::from("")),
        field(function, "name", Value::from("")),
        field(function, "parameters", Value::Object(serde_json::Map::new())),
        ("type".to_owned(), tool.get("type").map_or_else(|| Node::Text("function".to_owned()), Node::from)),
    ])
}

fn canonical(node: &Node) -> String {
    let style = Style {
        item_separator: ",".to_owned(),
        key_separator: ":".to_owned(),
        sort_keys: true,
        ..Style::default()
    };
    let mut out = String::new();
    dumps(node, &style, &mut out);
    out
}

/// A call's body.
#[derive(Deserialize)]
struct Shape<'a> {
    name: String,
    #[serde(borrow)]
    args: &'a RawValue,
}

impl Channels for Inkling {
    fn start(&self) -> &'static str {
        MODEL
    }

    fn openers(&self) -> &'static [&'static str] {
        &[TEXT, THINKING, INVOKE]
    }

    fn end(&self) -> &'static str {
        END
    }

    fn kind(&self, header: &str, opener: usize) -> Option<Kind> {
        match opener {
            0 => header.is_empty().then_some(Kind::Content),
            1 => header.is_empty().then_some(Kind::Reasoning),
            _ => Some(Kind::Call),
        }
    }

    /// The body names the function; the header repeats the name.
    fn read(&self, _header: &str, body: &str) -> Option<Call> {
        let shape: Shape<'_> = serde_json::from_str(body).ok()?;
        let arguments = shape.args.get().to_owned();
        let valid = !shape.name.is_empty() && arguments.starts_with('{');
        valid.then_some(Call { id: None, name: shape.name, arguments })
    }

    fn write(&self, message: &Message, sampled: bool) -> Result<Vec<Stroke>, usize> {
        let mut strokes = Vec::new();
        let mut block = |header: &str, opener: &str, text: String| {
            if !strokes.is_empty() {
                strokes.push(Stroke::Frame(MODEL.to_owned()));
            }
            strokes.push(Stroke::Text(header.to_owned()));
            strokes.push(Stroke::Frame(opener.to_owned()));
            strokes.push(Stroke::Text(text));
            strokes.push(Stroke::Frame(END.to_owned()));
        };
        if let Some(reasoning) = message.reasoning.as_deref().filter(|text| !text.is_empty()) {
            block("", THINKING, reasoning.to_owned());
        }
        let content = message.content.text();
        if !content.is_empty() {
            block("", TEXT, content.into_owned());
        }
        for (nth, call) in message.tool_calls.iter().enumerate() {
            let arguments = object(&call.arguments).ok_or(nth)?;
            let arguments = match &call.arguments {
                Arguments::Text(text) if sampled => text.clone(),
                _ => canonical(&Node::Map(arguments)),
            };
            let mut name = String::new();
            dumps(&Node::Text(call.name.clone()), &Style::default(), &mut name);
            block(&call.name, INVOKE, format!("{{\"name\":{name},\"args\":{arguments}}}"));
        }
        Ok(strokes)
    }
}
