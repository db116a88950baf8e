//! An engine without a model: seeded, scripted or drawn at random, with a latency model and faults.
//!
//! The invariant this crate keeps: everything it replies follows from its seed and what it was
//! asked. A token's logprob is a function of the ids before it, so a row can be scored again, and a
//! row that is off by one token fails.

mod engine;
mod fault;
mod form;
mod json;
mod latency;
mod logprob;
mod script;

pub use engine::{SimEngine, SimOptions, Speller};
pub use fault::Fault;
pub use latency::Latency;
pub use script::{Caller, Drawn, Line, Playbook, Script};
