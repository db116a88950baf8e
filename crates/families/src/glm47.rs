//! GLM-4.7, GLM-4.7-Flash and later.
//!
//! Rendered as the official template renders, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. `clear_thinking` is fixed to `false`, which the template knows: think blocks stay.
//! 2. A turn ends with the opener of the next one, which the model samples: `<|user|>` or
//!    `<|observation|>`. Where it is the one that follows, it stays where it was sampled; any other
//!    makes way for the one that follows (Miles §4.2).
//! 3. After a length cut or another end, the next opener ends the turn, and that is reported.

use verbatim_chat::{Message, Role, StartState};

use crate::RenderError;
use crate::native::{ALL_ROLES, End, Format, Messages, Off, Page, Said, Switch, Table};
use crate::parser::calls::GLM;
use crate::parser::{BARE, Blank, Calling, Gaps, Thinking};
use crate::python::strip;

/// The family.
#[derive(Debug)]
pub(crate) struct Glm47;

/// The family.
pub(crate) const FORMAT: Glm47 = Glm47;

/// Its rules.
const TABLE: Table = Table {
    name: "glm47",
    markers: &[
        "[gMASK]",
        "<sop>",
        "<|system|>",
        "<|assistant|>",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
    ],
    assistant: "<|assistant|>",
    end: End::Opener("<|observation|>"),
    stop: &["<|user|>", "<|observation|>", "<|endoftext|>"],
    thinking: Some(&Thinking { silent: Some("</think>"), ..BARE }),
    calling: Some(&Calling { format: GLM, gaps: NO_GAPS }),
    switch: Switch {
        on: ("<think>", StartState::Reasoning),
        off: "</think>",
        by: Off::Falsy,
        ..Switch::NONE
    },
    append: ALL_ROLES,
    fixed: &[("clear_thinking", false)],
    parsers: [&["glm45"], &["glm47", "glm"]],
};

const NO_GAPS: Gaps = Gaps { first: 0, alone: 0, between: 0, last: 0, blank: Blank::Content };

const TOOLS_BEFORE: &str = "<|system|>\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
    You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n";

const TOOLS_AFTER: &str = "</tools>\n\nFor each function call, output the function name and arguments within the \
    following XML format:\n<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}\
    </arg_value><arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>";

impl Format for Glm47 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, _messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        page.frame("[gMASK]<sop>");
        if !page.scene.setup.tools.is_empty() {
            page.frame(TOOLS_BEFORE);
            for tool in &page.scene.setup.tools {
                page.declaration("", &tool.0, "\n");
            }
            page.frame(TOOLS_AFTER);
        }
        Ok(0)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        match message.role {
            Role::Tool => {
                let previous = messages.previous(at).map(|message| message.role);
                page.frame(if previous == Some(Role::Tool) { "" } else { "<|observation|>" });
                page.frame("<tool_response>");
                page.text(&text, at);
                page.frame("</tool_response>");
            }
            Role::System => {
                page.frame("<|system|>");
                page.text(&text, at);
            }
            _ => {
                page.frame("<|user|>");
                page.text(&text, at);
            }
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::unfolded(message, message.content.text()).map(strip, strip)
    }
}
