//! Kimi K2.5 and K2.6.
//!
//! Rendered as the official templates render, with the tools declared as the model's tokenizer
//! declares them (`tool_declaration_ts`), but for these rules; rules 4 and 6 of [`crate::qwen3`] hold
//! here too:
//!
//! 1. `preserve_thinking` is fixed to `true`, which K2.6's template knows: think blocks stay. K2.5's
//!    empties those before the last turn that called nothing (Miles §4.3).
//! 2. An assistant's turn is opened as `assistant`, as the prompt opens it, even if the message has a
//!    name; the official templates show the name in history only. Others are shown by their names.
//! 3. `enable_thinking` is taken for `thinking`, which the official templates ask for; where both are
//!    given they must agree.
//! 4. A tool that is declared without `function` around it is shown; the official declaration leaves
//!    it out without a word.
//! 5. Argument text is printed as it is, as the official templates do, if it is a JSON object.
//! 6. A call without an id gets one: `functions.NAME:POSITION`. The official templates leave it empty.

use verbatim_chat::{Message, Role, StartState};

use crate::RenderError;
use crate::kimi_tools::{compact, typescript};
use crate::native::{ALL_ROLES, End, Format, Messages, Off, Page, Said, Switch, Table};
use crate::parser::calls::KIMI;
use crate::parser::{BARE, Blank, Calling, Gaps};

/// One of the two.
#[derive(Debug)]
pub(crate) struct KimiK2 {
    table: &'static Table,
}

/// Kimi K2.5.
pub(crate) const K25: KimiK2 = KimiK2 { table: &TABLE };

/// Kimi K2.6.
pub(crate) const K26: KimiK2 = KimiK2 { table: &Table { name: "kimi26", ..TABLE } };

const TABLE: Table = Table {
    name: "kimi25",
    markers: &[
        "<|im_user|>",
        "<|im_system|>",
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
        names: &["thinking", "enable_thinking"],
        ..Switch::NONE
    },
    append: ALL_ROLES,
    fixed: &[("preserve_thinking", true)],
    parsers: [&["kimi_k2"], &["kimi_k2", "kimi_k2_raw_id"]],
};

/// How they call.
pub(crate) const CALLING: Calling =
    Calling { format: KIMI, gaps: Gaps { first: 0, alone: 0, between: 0, last: 0, blank: Blank::Content } };

impl Format for KimiK2 {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, _messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        let tools = &page.scene.setup.tools;
        if !tools.is_empty() {
            page.frame("<|im_system|>tool_declare<|im_middle|>");
            page.declared(&typescript(tools).unwrap_or_else(|| compact(tools)));
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
