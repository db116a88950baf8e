//! The one thread that owns the model's sequences.
//!
//! The invariant: a step takes at most one token of every decoding sequence and `chunk` tokens of
//! prompts, and between two steps every message is heard; so nothing waits for longer than a step.

mod batch;
mod inbox;
mod running;
mod sampler;

pub(crate) use batch::{Limits, Worker};
pub(crate) use inbox::{Generation, Message, Scoring};
pub(crate) use sampler::check;
