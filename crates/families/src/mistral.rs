//! Mistral's reasoning models since Ministral 3.
//!
//! Rendered as the official template renders, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. A message's reasoning is shown as the thinking chunk that the official template takes among
//!    the parts of its content.
//! 2. People and assistants need not take turns, and an assistant may say nothing; the official
//!    template fails on both.
//! 3. A system message that is not the first is refused, as the official template refuses it. So
//!    none may follow a sampled turn.
//! 4. A function's name is shown as it is; the official template escapes it for HTML.
//!
//! The prompt opens nothing: the model writes `[THINK]` itself.

use verbatim_chat::{Message, Role};

use crate::RenderError;
use crate::native::{End, Format, Messages, NO_SYSTEM, Page, Said, Switch, Table};
use crate::parser::calls::MISTRAL;
use crate::parser::{BARE, Blank, Calling, Gaps, Thinking};
use crate::python::{Node, Style, dumps};

/// The family.
#[derive(Debug)]
pub(crate) struct Mistral;

/// The family.
pub(crate) const FORMAT: Mistral = Mistral;

/// Its rules.
const TABLE: Table = Table {
    name: "mistral",
    markers: &["<s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]"],
    assistant: "",
    end: End::Token("</s>", ""),
    stop: &["</s>"],
    thinking: Some(&THINKING),
    calling: Some(&CALLING),
    switch: Switch::NONE,
    append: NO_SYSTEM,
    fixed: &[],
    parsers: [&["mistral"], &["mistral"]],
};

/// Its think block.
pub(crate) const THINKING: Thinking =
    Thinking { open: "[THINK]", close: "[/THINK]", silent: Some(""), ..BARE };

/// Its calls.
pub(crate) const CALLING: Calling = Calling {
    format: MISTRAL,
    gaps: Gaps { first: 0, alone: 0, between: 0, last: 0, blank: Blank::Content },
};

const SYSTEM: &str = "# HOW YOU SHOULD THINK AND ANSWER\n\nFirst draft your thinking process (inner monologue) until you \
    arrive at a response. Format your response using Markdown, and use LaTeX for any mathematical equations. Write both \
    your thoughts and the response in the same language as the input.\n\nYour thinking process must follow the template \
    below:[THINK]Your thoughts or/and draft, like working through an exercise on scratch paper. Be as casual and as long \
    as you want until you are confident to generate the response to the user.[/THINK]Here, provide a self-contained \
    response.";

impl Format for Mistral {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let first = messages.first().filter(|message| message.role == Role::System);
        page.frame("<s>[SYSTEM_PROMPT]");
        match first {
            Some(message) => page.text(&message.content.text(), 0),
            None => page.frame(SYSTEM),
        }
        page.frame("[/SYSTEM_PROMPT]");
        let tools = &page.scene.setup.tools;
        if !tools.is_empty() {
            let mut text = String::new();
            let list = tools.iter().map(|tool| Node::from(&tool.0)).collect();
            dumps(&Node::List(list), &Style::default(), &mut text);
            page.frame("[AVAILABLE_TOOLS]");
            page.declared(&text);
            page.frame("[/AVAILABLE_TOOLS]");
        }
        Ok(usize::from(first.is_some()))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let around = match message.role {
            Role::System => return Err(page.unsupported(at, "a system message that is not the first")),
            Role::Tool => ["[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
            _ => ["[INST]", "[/INST]"],
        };
        page.frame(around[0]);
        page.text(&message.content.text(), at);
        page.frame(around[1]);
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }
}
