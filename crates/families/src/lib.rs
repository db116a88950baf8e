//! Model families: a conversation rendered to token ids, and token ids parsed back.
//!
//! The invariants this crate keeps: what a family renders for a conversation is, id for id, what
//! the model's official template renders under the family's append-only settings; extending a
//! sampled turn never changes a token before it; text that a user or a tool wrote never becomes a
//! control token; and any split of the same ids parses to the same parts.
//!
//! Pure: no I/O, no async, no clock.

mod error;
mod family;
mod parse;
mod render;

pub use error::{FamilyError, RenderError};
pub use family::{Family, Scene};
pub use parse::{Flaw, Parsed, Parser, Part};
pub use verbatim_chat::StartState;
pub use render::{Extension, Junction, Rendered, Repair, Source};
