//! Model families: a conversation rendered to token ids, and token ids parsed back.
//!
//! The invariants this crate keeps: what a family renders for a conversation is, id for id, what
//! the model's official template renders under the family's append-only settings; extending a
//! sampled turn never changes a token before it; text that a user or a tool wrote never becomes a
//! control token; and any split of the same ids parses to the same parts.
//!
//! Pure: no I/O, no async, no clock.

mod arguments;
mod calls;
mod chatml;
mod deepseek;
mod deepseekv32;
mod deepseekv4;
mod default;
mod error;
mod family;
mod gemma3;
mod glm47;
mod gptoss;
mod gptoss_tools;
mod hermes;
mod inkling;
mod kimi;
mod kimi_tools;
mod llama3;
mod load;
mod minimax;
mod mistral;
mod native;
mod nemotron3;
mod outline;
mod parse;
mod parser;
mod python;
mod qwen25;
mod qwen25vl;
mod qwen3;
mod qwen35;
mod qwennext;
mod registry;
mod render;
mod script;
mod shapes;
mod smollm2;
mod vision;

pub use error::{FamilyError, RenderError};
pub use family::{Family, Scene};
pub use load::{NAMES, Options, Pixels, load, load_with};
pub use outline::{CallLayout, Outline, Thought};
pub use parse::{Flaw, Parsed, Parser, Part};
pub use render::{Extension, Junction, Rendered, Repair, Source};
pub use shapes::shapes;
pub use verbatim_chat::StartState;
pub use vision::{Patches, Vision};
