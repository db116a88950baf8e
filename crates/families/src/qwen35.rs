//! Qwen3.5 and Qwen3.6.
//!
//! Rendered as the official templates render, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. A think block stays when a later user speaks (`preserve_thinking`, which Qwen3.6's template
//!    has and Qwen3.5's lacks, is fixed to `true`; so is Miles' name for it, `clear_thinking`, to
//!    `false`).
//! 2. A conversation needs no user's query; the official templates fail without one.
//! 3. A system message that is not the first is refused, as the official templates refuse it, and
//!    so none may follow a sampled turn.
//! 4. A tool's result that comes first opens a user's turn; the official templates leave its opener
//!    out.
//! 5. What is trimmed is what the templates trim, in history: a sampled turn keeps its whitespace.
//! 6. An image in a user's message or in a tool's result is as many placeholders as the model's image processor makes of
//!    it; the templates write one, to be multiplied later. The assistant shows no images. A vocabulary without the
//!    tokens for them shows none.
//!
//! The two differ in how a call's arguments are spelled: Qwen3.5 prints what is neither text nor a
//! list nor an object as Python does (`True`, `None`), Qwen3.6 as JSON.

use std::borrow::Cow;

use verbatim_chat::{Message, Role, StartState};

use crate::chatml::{self, ASSISTANT, CODER_RULES, END, QWEN_RESULT, STOP};
use crate::native::{Format, Messages, NO_SYSTEM, Off, Page, Said, Switch, Table};
use crate::parser::calls::{QWEN_CODER, QWEN_CODER_JSON};
use crate::parser::{Blank, Calling, Gaps, QWEN};
use crate::python::strip;
use crate::{Patches, RenderError, qwen3};

/// One of the two.
#[derive(Debug)]
pub(crate) struct Qwen35 {
    table: &'static Table,
}

/// Qwen3.5.
pub(crate) const QWEN35: Qwen35 = Qwen35 { table: &TABLE };

/// Qwen3.6.
pub(crate) const QWEN36: Qwen35 = Qwen35 { table: &TABLE36 };

const GAPS: Gaps = Gaps { first: 2, alone: 0, between: 1, last: 0, blank: Blank::Nothing };

const TABLE: Table = Table {
    name: "qwen35",
    markers: qwen3::TABLE.markers,
    assistant: ASSISTANT,
    end: END,
    stop: STOP,
    thinking: Some(&QWEN),
    calling: Some(&Calling { format: QWEN_CODER, gaps: GAPS }),
    switch: Switch {
        on: ("<think>\n", StartState::Reasoning),
        off: qwen3::SILENT,
        by: Off::False,
        ..Switch::NONE
    },
    append: NO_SYSTEM,
    fixed: &[("clear_thinking", false), ("preserve_thinking", true)],
    parsers: [&["qwen3"], &["qwen3_coder"]],
};

const TABLE36: Table =
    Table { name: "qwen36", calling: Some(&Calling { format: QWEN_CODER_JSON, gaps: GAPS }), ..TABLE };

impl Format for Qwen35 {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let first = messages.first().filter(|message| message.role == Role::System);
        let content = first.map(|message| message.content.text());
        let content = content.as_deref().map(strip);
        if page.scene.setup.tools.is_empty() {
            if let Some(content) = content {
                chatml::turn(Role::System, content, 0, page);
            }
            return Ok(usize::from(first.is_some()));
        }
        chatml::open(Role::System, page);
        page.frame("# Tools\n\nYou have access to the following functions:\n\n<tools>");
        chatml::declarations(page);
        page.frame("\n</tools>");
        page.frame(CODER_RULES);
        if let Some(content) = content.filter(|content| !content.is_empty()) {
            page.frame("\n\n");
            page.text(content, 0);
        }
        chatml::close(page);
        Ok(usize::from(first.is_some()))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        match message.role {
            Role::System => Err(page.unsupported(at, "a system message that is not the first")),
            Role::Tool => {
                chatml::open_result(messages, at, QWEN_RESULT, page);
                page.stripped(&message.content, at)?;
                chatml::close_result(messages, at, QWEN_RESULT, page);
                Ok(())
            }
            role => {
                chatml::open(role, page);
                page.stripped(&message.content, at)?;
                chatml::close(page);
                Ok(())
            }
        }
    }

    fn patches(&self) -> Option<Patches> {
        Some(Patches::QWEN3_VL)
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        let content = Cow::Owned(strip(&message.content.text()).to_owned());
        Said::unfolded(message, content).map(strip, |text| text)
    }
}
