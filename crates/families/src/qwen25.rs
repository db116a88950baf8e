//! Qwen2.5 and Qwen2.5-Coder.
//!
//! Rendered as the official template renders, which is append-only by itself; rules 4 to 7 of
//! [`crate::qwen3`] hold here too. The format has no reasoning: a message's is not rendered.

use crate::chatml::{ALL_ROLES, Table};

/// The family's rules.
pub(crate) const TABLE: Table = Table {
    name: "qwen25",
    markers: &["<tool_call>", "</tool_call>"],
    system: Some("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    think: false,
    append: ALL_ROLES,
};
