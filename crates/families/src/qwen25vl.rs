//! Qwen2-VL and Qwen2.5-VL.
//!
//! Rendered as [`crate::qwen25`] is, which is how the template in their `tokenizer_config.json` renders, but for these
//! rules:
//!
//! 1. The system's words by default are another's.
//! 2. An image in a user's message or in a tool's result is its placeholders, as many as the model's image processor
//!    makes of it, between `<|vision_start|>` and `<|vision_end|>`, where it stands among the text. (Their
//!    `chat_template.json`, which the processors use, writes one, to be multiplied later; it knows no tools.)
//! 3. The system and the assistant show no images.

use crate::hermes::Hermes;
use crate::native::Table;
use crate::{Patches, qwen25};

/// The family.
pub(crate) const FORMAT: Hermes =
    Hermes { table: &TABLE, system: Some("You are a helpful assistant."), patches: Some(Patches::QWEN2_VL) };

/// Its rules.
const TABLE: Table = Table {
    name: "qwen25vl",
    markers: &[
        "<|im_start|>",
        "<tool_call>",
        "</tool_call>",
        "<|vision_start|>",
        "<|image_pad|>",
        "<|vision_end|>",
    ],
    ..qwen25::TABLE
};
