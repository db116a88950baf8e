//! Qwen3-Thinking-2507 and Qwen3-Next-Thinking: Qwen3 without the switch.
//!
//! Rendered as the official template renders under the rules of [`crate::qwen3`], with these
//! differences, which are the template's own:
//!
//! 1. The prompt opens the think block, so that a turn starts inside it.
//! 2. A request that switches thinking off is refused; the official template ignores it.

use verbatim_chat::StartState;

use crate::hermes::Hermes;
use crate::native::{Off, Switch, Table};
use crate::qwen3;

/// The family.
pub(crate) const FORMAT: Hermes = Hermes { table: &TABLE, system: None, patches: None };

/// Its rules.
const TABLE: Table = Table {
    name: "qwennext",
    switch: Switch { on: ("<think>\n", StartState::Reasoning), off: "", by: Off::Never, ..Switch::NONE },
    fixed: &[("clear_thinking", false), ("enable_thinking", true)],
    parsers: [&["qwen3-thinking", "qwen3"], qwen3::TABLE.parsers[1]],
    ..qwen3::TABLE
};
