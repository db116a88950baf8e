//! Qwen3, hybrid thinking.
//!
//! Rendered as the official template renders, but for these rules, which keep a conversation
//! append-only (the first two are Miles' `qwen3` template and its fixed `clear_thinking=false`,
//! §4.2 and §4.3):
//!
//! 1. Every assistant turn has a think block, possibly empty. The official template renders one
//!    only for a turn that has reasoning or is the last. With the block, newlines at the beginning
//!    of content are left out, as the template does wherever it renders one.
//! 2. A think block stays when a later user speaks. The official template drops those before the
//!    last user's query.
//! 3. `clear_thinking` is fixed to `false`; `enable_thinking` may be given, and only the boolean
//!    `false` closes the prompt's think block.
//! 4. Absent content is empty content; the official template fails on it. A list of text parts is
//!    its text; the official template fails on it too, or renders it as nothing (Miles §4.1).
//! 5. Argument text is parsed and spelled anew; the official template prints it as it is.
//! 6. Special tokens that a system message, a user, a tool or a tool's declaration spells out stay
//!    text, and so do control tokens that an assistant's message spells out. Markers in it
//!    (`<think>`, `<tool_call>`) are the tokens, as the model wrote them.
//! 7. A conversation without messages renders as its system block and the opener alone;
//!    the official template fails on it.

use verbatim_chat::StartState;

use crate::chatml::{ASSISTANT, END, STOP};
use crate::hermes::{CALL_PARSERS, Hermes, THINKING_CALLING};
use crate::native::{ALL_ROLES, Off, Switch, Table};
use crate::parser::QWEN;

/// The family.
pub(crate) const FORMAT: Hermes = Hermes { table: &TABLE, system: None, patches: None };

/// Its rules.
pub(crate) const TABLE: Table = Table {
    name: "qwen3",
    markers: &["<|im_start|>", "<think>", "</think>", "<tool_call>", "</tool_call>"],
    assistant: ASSISTANT,
    end: END,
    stop: STOP,
    thinking: Some(&QWEN),
    calling: Some(&THINKING_CALLING),
    switch: Switch { on: ("", StartState::Content), off: SILENT, by: Off::False, ..Switch::NONE },
    append: ALL_ROLES,
    fixed: &[("clear_thinking", false)],
    parsers: [&["qwen3"], CALL_PARSERS],
};

/// The think block of a model that is not to think.
pub(crate) const SILENT: &str = "<think>\n\n</think>\n\n";
