//! Kimi K2.5 and K2.6.
//!
//! Rendered as the models' tokenizers render, tools declared as TypeScript included, but for these
//! rules; rules 4, 6 and 7 of [`crate::qwen3`] hold here too:
//!
//! 1. A think block stays when a later turn calls nothing (`preserve_thinking`, which K2.6's
//!    template has and K2.5's lacks, is fixed to `true`).
//! 2. A call without an id has the one that a model would give it, by its place in the turn; the
//!    official templates leave the id out.
//! 3. Tools that cannot be declared as TypeScript are refused; the official tokenizers declare them
//!    as JSON, which the models were not trained on.
//! 4. An assistant's name is not shown; the official templates put it in place of the role.

use verbatim_chat::{Message, Role, StartState};

use crate::native::{ALL_ROLES, End, Format, Messages, Off, Page, Said, Switch, Table};
use crate::parser::calls::KIMI;
use crate::parser::{BARE, Calling, Gaps};
use crate::{RenderError, typescript};

/// One of the two.
#[derive(Debug)]
pub(crate) struct Kimi {
    table: &'static Table,
}

/// Kimi K2.5.
pub(crate) const K25: Kimi = Kimi { table: &TABLE };

/// Kimi K2.6.
pub(crate) const K26: Kimi = Kimi { table: &Table { name: "kimi26", ..TABLE } };

const TABLE: Table = Table {
    name: "kimi25",
    markers: &[
        "<|im_system|>",
        "<|im_user|>",
        "<|im_middle|>",
        "<think>",
        "</think>",
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
    ],
    assistant: "<|im_assistant|>assistant<|im_middle|>",
    end: End::Token("<|im_end|>", ""),
    stop: &["<|im_end|>", "[EOS]"],
    thinking: Some(&BARE),
    calling: Some(&CALLING),
    switch: Switch {
        on: ("<think>", StartState::Reasoning),
        off: "<think></think>",
        by: Off::False,
        names: &["thinking"],
        ..Switch::NONE
    },
    append: ALL_ROLES,
    fixed: &[("preserve_thinking", true)],
    parsers: [&["kimi_k2"], &["kimi_k2", "kimi_k2_raw_id"]],
};

/// Nothing between calls, nor between content and calls.
pub(crate) const CALLING: Calling = Calling {
    format: KIMI,
    gaps: Gaps { first: 0, alone: 0, between: 0, last: 0, blank: crate::parser::Blank::Content },
};

impl Format for Kimi {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let tools = &page.scene.setup.tools;
        if !tools.is_empty() {
            let declared = typescript::declared(tools.iter().map(|tool| &tool.0));
            let Ok(declared) = declared else {
                return Err(page.unsupported(messages.len(), "a tool whose schema is no TypeScript"));
            };
            page.frame("<|im_system|>tool_declare<|im_middle|>");
            page.declared(&declared);
            page.frame("<|im_end|>");
        }
        Ok(0)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        page.frame(if message.role == Role::User { "<|im_user|>" } else { "<|im_system|>" });
        match message.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => page.text(name, at),
            None => page.frame(message.role.as_str()),
        }
        page.frame("<|im_middle|>");
        if message.role == Role::Tool {
            page.frame("## Return of ");
            page.text(message.tool_call_id.as_deref().unwrap_or_default(), at);
            page.frame("\n");
        }
        page.text(&message.content.text(), at);
        page.frame("<|im_end|>");
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }
}
