//! gpt-oss, in OpenAI's harmony format.
//!
//! Rendered as the official template renders a prompt, but for these rules; rules 4, 5, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. What was analysed stays in history, before the answer and before the call. The official template
//!    shows it before a call only, and only as long as no answer follows.
//! 2. Content beside a call is a message of the commentary channel before it, which is where the model
//!    writes it; the official template shows it as analysis, and fails where there is analysis too.
//! 3. Every call of a turn is shown; the official template leaves out all but the first without a word.
//! 4. A result is named by its call's id; the official template names all by the first call.
//! 5. A tool that is declared without `function` around it, or without a description, or with a default
//!    that is no text beside an `enum` or `oneOf`, is shown; the official template fails.
//! 6. A system message that is not the first is refused; the official template leaves it out without a
//!    word. So none may follow a sampled turn.
//! 7. `reasoning_effort` is `low`, `medium` or `high`; the official template prints whatever it is given.
//!    `enable_thinking` may not be `false`, and `builtin_tools` are refused: they are called elsewhere.
//! 8. A sampled answer ends with `<|return|>`, which history has never shown: it makes way for `<|end|>`
//!    when something follows, as the official template has it. `<|call|>` stays.
//!
//! The date is that of the session's opening. Analysis, commentary and answers are messages of one turn.

use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::{Arguments, Message, Role};

use crate::RenderError;
use crate::calls::object;
use crate::gptoss_tools::namespace;
use crate::native::{End, Format, Messages, NO_SYSTEM, Page, Said, Switch, Table};
use crate::parser::calls::Call;
use crate::parser::channels::{Channels, Kind, Stroke};
use crate::python::{Node, Style, dumps};

/// The family.
#[derive(Debug)]
pub(crate) struct GptOss;

/// The family.
pub(crate) const FORMAT: GptOss = GptOss;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const CONSTRAIN: &str = "<|constrain|>";
const MESSAGE: &str = "<|message|>";
const END: &str = "<|end|>";
const CALL: &str = "<|call|>";

/// What begins a further message of a turn.
const NEXT: &str = "<|start|>assistant";

/// Whom calls of declared tools are addressed to.
const FUNCTIONS: &str = "functions.";

/// Its rules.
const TABLE: Table = Table {
    name: "gptoss",
    markers: &[START, CHANNEL, CONSTRAIN, MESSAGE],
    assistant: NEXT,
    end: End::Either(END, CALL),
    stop: &["<|return|>", CALL, "<|endoftext|>"],
    thinking: None,
    calling: None,
    switch: Switch::NONE,
    append: NO_SYSTEM,
    fixed: &[("enable_thinking", true)],
    parsers: [&["gpt-oss"], &["gpt-oss"]],
};

const IDENTITY: &str = "You are ChatGPT, a large language model trained by OpenAI.";

const EFFORTS: [&str; 3] = ["low", "medium", "high"];

const CHANNELS: &str =
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.";

const TO_COMMENTARY: &str = "\nCalls to these tools must go to the commentary channel: 'functions'.";

impl Format for GptOss {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn reads_clock(&self) -> bool {
        true
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        if let Some(value) = page.argument("builtin_tools") {
            return Err(page.conflict("builtin_tools", value, "the request's tools"));
        }
        let tools = page.scene.setup.tools.as_slice();
        page.frame("<|start|>system<|message|>");
        match page.argument("model_identity") {
            None => page.frame(IDENTITY),
            Some(Value::String(identity)) => page.declared(identity),
            Some(other) => return Err(page.conflict("model_identity", other, "a text")),
        }
        page.frame("\nKnowledge cutoff: 2024-06\nCurrent date: ");
        let opened = page.scene.opened;
        let date = chrono::DateTime::from_timestamp(opened, 0);
        let date = date.ok_or_else(|| RenderError::Template { reason: format!("no such time: {opened}") })?;
        page.frame(&date.format("%Y-%m-%d").to_string());
        page.frame("\n\nReasoning: ");
        page.frame(effort(page)?);
        page.frame("\n\n");
        page.frame(CHANNELS);
        page.frame(if tools.is_empty() { "" } else { TO_COMMENTARY });
        page.frame(END);
        let first = messages.first().filter(|message| message.role == Role::System);
        let instructions = first.map(|message| message.content.text()).unwrap_or_default();
        if !instructions.is_empty() || !tools.is_empty() {
            page.frame("<|start|>developer<|message|>");
            if !instructions.is_empty() {
                page.frame("# Instructions\n\n");
                page.text(&instructions, 0);
                page.frame("\n\n");
            }
            if !tools.is_empty() {
                page.frame("# Tools\n\n");
                let declared = namespace(tools);
                page.declared(&declared.map_err(|tool| page.undeclared(tool))?);
            }
            page.frame(END);
        }
        Ok(usize::from(first.is_some()))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        match message.role {
            Role::System => return Err(page.unsupported(at, "a system message that is not the first")),
            Role::Tool => {
                let Some(name) = called(messages, at) else {
                    return Err(page.unsupported(at, "a result where the last assistant called nothing"));
                };
                page.frame("<|start|>functions.");
                page.text(name, at);
                page.frame(" to=assistant<|channel|>commentary<|message|>");
                let mut quoted = String::new();
                dumps(&Node::Text(text.into_owned()), &Style::default(), &mut quoted);
                page.text(&quoted, at);
            }
            _ => {
                page.frame("<|start|>user<|message|>");
                page.text(&text, at);
            }
        }
        page.frame(END);
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }

    fn channels(&self) -> Option<&'static dyn Channels> {
        Some(&FORMAT)
    }
}

/// How much is thought.
fn effort(page: &Page<'_>) -> Result<&'static str, RenderError> {
    let Some(value) = page.argument("reasoning_effort") else { return Ok("medium") };
    let known = EFFORTS.into_iter().find(|known| value == known);
    known.ok_or_else(|| page.conflict("reasoning_effort", value, "low, medium or high"))
}

/// The function whose result a message is: that of the call with its id, else of the first call.
fn called<'m>(messages: Messages<'m>, at: usize) -> Option<&'m str> {
    let id = messages.new[at].tool_call_id.as_deref();
    let calls = &messages.assistant(at)?.tool_calls;
    let own = calls.iter().rev().find(|call| id.is_some() && call.id.as_deref() == id);
    own.or(calls.first()).map(|call| call.name.as_str())
}

/// What a header says, from after the role to before the text.
struct Header<'h> {
    channel: &'h str,
    /// Whom the message is for.
    recipient: Option<&'h str>,
}

/// Reads a header. The recipient stands before the channel, as history has it, or after it, as the
/// model writes it; what the text is, JSON or code, is said after both.
fn header(text: &str) -> Option<Header<'_>> {
    let (before, after) = text.split_once(CHANNEL)?;
    let before = before.strip_prefix("assistant").unwrap_or(before);
    let after = after.split_once(CONSTRAIN).map_or(after, |(after, _)| after);
    let mut words = after.split_ascii_whitespace();
    let channel = words.next()?;
    let late = words.next().and_then(|word| word.strip_prefix("to="));
    let recipient = before.trim_ascii().strip_prefix("to=").or(late);
    let known = before.trim_ascii().is_empty() || recipient.is_some();
    known.then_some(Header { channel, recipient })
}

/// The function that a recipient is.
fn function(recipient: &str) -> Option<&str> {
    recipient.strip_prefix(FUNCTIONS).filter(|name| !name.is_empty())
}

impl Channels for GptOss {
    fn start(&self) -> &'static str {
        START
    }

    fn openers(&self) -> &'static [&'static str] {
        &[MESSAGE]
    }

    fn inner(&self) -> &'static [&'static str] {
        &[CHANNEL, CONSTRAIN]
    }

    fn end(&self) -> &'static str {
        END
    }

    fn stops(&self) -> &'static [&'static str] {
        TABLE.stop
    }

    fn kind(&self, text: &str, _opener: usize) -> Option<Kind> {
        let header = header(text)?;
        match (header.channel, header.recipient) {
            ("analysis" | "commentary", Some(recipient)) => function(recipient).map(|_| Kind::Call),
            ("analysis", None) => Some(Kind::Reasoning),
            ("commentary" | "final", None) => Some(Kind::Content),
            _ => None,
        }
    }

    fn meant_to_call(&self, text: &str) -> bool {
        text.contains("to=")
    }

    fn read(&self, text: &str, body: &str) -> Option<Call> {
        let name = function(header(text)?.recipient?)?.to_owned();
        let arguments = body.trim();
        let json = arguments.starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok();
        json.then(|| Call { id: None, name, arguments: arguments.to_owned() })
    }

    fn write(&self, message: &Message, sampled: bool) -> Result<Vec<Stroke>, usize> {
        let frame = |text: &str| Stroke::Frame(text.to_owned());
        let text = |text: &str| Stroke::Text(text.to_owned());
        let mut strokes = Vec::new();
        if let Some(reasoning) = message.reasoning.as_deref().filter(|text| !text.is_empty()) {
            strokes.extend([frame("<|channel|>analysis<|message|>"), text(reasoning)]);
            strokes.extend([frame(END), frame(NEXT)]);
        }
        let content = message.content.text();
        if message.tool_calls.is_empty() {
            strokes.extend([frame("<|channel|>final<|message|>"), text(&content)]);
            return Ok(strokes);
        }
        if !content.is_empty() {
            strokes.extend([frame("<|channel|>commentary<|message|>"), text(&content)]);
            strokes.extend([frame(END), frame(NEXT)]);
        }
        for (nth, call) in message.tool_calls.iter().enumerate() {
            if nth > 0 {
                strokes.extend([frame(CALL), frame(NEXT)]);
            }
            let arguments = object(&call.arguments).ok_or(nth)?;
            let mut written = String::new();
            match &call.arguments {
                Arguments::Text(own) if sampled => written.push_str(own),
                _ => dumps(&Node::Map(arguments), &Style::default(), &mut written),
            }
            strokes.extend([frame(" to=functions."), text(&call.name)]);
            strokes.extend([frame("<|channel|>commentary json<|message|>"), text(&written)]);
        }
        Ok(strokes)
    }
}
