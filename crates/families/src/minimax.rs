//! MiniMax M2.5 and M2.7.
//!
//! Rendered as the official templates render, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. A think block stays when a later user speaks (Miles' `clear_thinking`, fixed to `false`).
//! 2. A system message that is not the first is refused; the official templates leave it out
//!    without a word. So none may follow a sampled turn.
//! 3. A tool's result where the last assistant called nothing is refused, as the official templates
//!    refuse it.
//! 4. A tool that is declared without `function` around it is shown; the official templates fail.
//! 5. A request that switches thinking off is refused; the official templates ignore it.

use verbatim_chat::{Message, Role, StartState};

use crate::RenderError;
use crate::native::{End, Format, Messages, NO_SYSTEM, Off, Page, Said, Switch, Table};
use crate::parser::calls::MINIMAX;
use crate::parser::{Blank, Calling, Gaps, QWEN, Thinking};

/// One of the two.
#[derive(Debug)]
pub(crate) struct MiniMax {
    table: &'static Table,
    identity: &'static str,
}

/// MiniMax M2.5.
pub(crate) const M25: MiniMax = MiniMax {
    table: &TABLE,
    identity: "You are a helpful assistant. Your name is MiniMax-M2.5 and is built by MiniMax.",
};

/// MiniMax M2.7.
pub(crate) const M27: MiniMax = MiniMax {
    table: &Table { name: "minimax_m27", ..TABLE },
    identity: "You are a helpful assistant. Your name is MiniMax-M2.7 and is built by MiniMax.",
};

const TABLE: Table = Table {
    name: "minimax_m25",
    markers: &["]~!b[", "]~b]", "<think>", "</think>", "<minimax:tool_call>", "</minimax:tool_call>"],
    assistant: "]~b]ai\n",
    end: End::Token("[e~[", "\n"),
    stop: &["[e~["],
    thinking: Some(&Thinking { silent: Some(""), ..QWEN }),
    calling: Some(&Calling { format: MINIMAX, gaps: GAPS }),
    switch: Switch { on: ("<think>\n", StartState::Reasoning), off: "", by: Off::Never, ..Switch::NONE },
    append: NO_SYSTEM,
    fixed: &[("clear_thinking", false), ("enable_thinking", true)],
    parsers: [&["minimax-append-think", "minimax"], &["minimax-m2"]],
};

const GAPS: Gaps = Gaps { first: 1, alone: 1, between: 0, last: 0, blank: Blank::Content };

const TOOLS_BEFORE: &str = "\n\n# Tools\nYou may call one or more tools to assist with the user query.\n\
    Here are the tools available in JSONSchema format:\n\n<tools>\n";

const TOOLS_AFTER: &str = "</tools>\n\nWhen making tool calls, use XML format to invoke tools and pass parameters:\n\n\
    <minimax:tool_call>\n<invoke name=\"tool-name-1\">\n<parameter name=\"param-key-1\">param-value-1</parameter>\n\
    <parameter name=\"param-key-2\">param-value-2</parameter>\n...\n</invoke>\n</minimax:tool_call>";

impl Format for MiniMax {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let first = messages.first().filter(|message| message.role == Role::System);
        let said = first.map(|message| message.content.text()).filter(|text| !text.is_empty());
        page.frame("]~!b[]~b]system\n");
        match (said, page.argument("model_identity").and_then(|identity| identity.as_str())) {
            (Some(text), _) => page.text(&text, 0),
            (None, Some(identity)) => page.declared(identity),
            (None, None) => page.frame(self.identity),
        }
        let tools = &page.scene.setup.tools;
        if !tools.is_empty() {
            page.frame(TOOLS_BEFORE);
            for tool in tools {
                page.declaration("<tool>", tool.0.get("function").unwrap_or(&tool.0), "</tool>\n");
            }
            page.frame(TOOLS_AFTER);
        }
        page.frame("[e~[\n");
        Ok(usize::from(first.is_some()))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        let is_result = |message: Option<&Message>| message.is_some_and(|message| message.role == Role::Tool);
        match message.role {
            Role::System => return Err(page.unsupported(at, "a system message that is not the first")),
            Role::Tool => {
                if messages.assistant(at).is_none_or(|assistant| assistant.tool_calls.is_empty()) {
                    return Err(page.unsupported(at, "a tool's result where nothing was called"));
                }
                page.frame(if is_result(messages.previous(at)) { "" } else { "]~b]tool" });
                page.frame("\n<response>");
                page.text(&text, at);
                page.frame("</response>");
                page.frame(if is_result(messages.next(at)) { "" } else { "[e~[\n" });
            }
            _ => {
                page.frame("]~b]user\n");
                page.text(&text, at);
                page.frame("[e~[\n");
            }
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        let content = message.content.text();
        // A block that is spelled out takes the newlines after the content with it.
        let folded = message.reasoning.is_none() && content.contains("</think>");
        let said = Said::unfolded(message, content);
        if folded { said.map(|text| text, |text| text.trim_end_matches('\n')) } else { said }
    }
}
