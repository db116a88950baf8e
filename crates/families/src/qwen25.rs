//! Qwen2.5 and Qwen2.5-Coder.
//!
//! Rendered as the official template renders, which is append-only by itself; rules 4 to 7 of
//! [`crate::qwen3`] hold here too. The format has no reasoning: a message's is not rendered.

use crate::chatml::{ASSISTANT, END, STOP};
use crate::hermes::{CALL_PARSERS, CALLING, Hermes};
use crate::native::{ALL_ROLES, Switch, Table};

/// The family.
pub(crate) const FORMAT: Hermes = Hermes {
    table: &TABLE,
    system: Some("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    patches: None,
};

/// Its rules.
pub(crate) const TABLE: Table = Table {
    name: "qwen25",
    markers: &["<|im_start|>", "<tool_call>", "</tool_call>"],
    assistant: ASSISTANT,
    end: END,
    stop: STOP,
    thinking: None,
    calling: Some(&CALLING),
    switch: Switch::NONE,
    append: ALL_ROLES,
    fixed: &[],
    parsers: [&[], CALL_PARSERS],
};
