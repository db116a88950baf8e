//! SmolLM2-Instruct.
//!
//! A conversation without tools is rendered as the official template renders it; rules 4, 6 and 7
//! of [`crate::qwen3`] hold here too. The official template knows no tools: it leaves declarations
//! and calls out, and opens a turn of role `tool` for a result. Here they take the shape that
//! Qwen2.5 gives them, so that a small model can be shown tools at all:
//!
//! 1. Declared tools are added to the system message in the Hermes block.
//! 2. An assistant's calls are rendered, arguments parsed and spelled anew.
//! 3. Results are rendered inside a user's turn, those that follow one another in one turn.
//!
//! The vocabulary has no markers, so that calls are spelled and parsed as text.

use crate::hermes::Hermes;
use crate::native::Table;
use crate::qwen25;

/// The family.
pub(crate) const FORMAT: Hermes = Hermes {
    table: &TABLE,
    system: Some("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    patches: None,
};

/// Its rules.
const TABLE: Table = Table { name: "smollm2", markers: &["<|im_start|>"], ..qwen25::TABLE };
