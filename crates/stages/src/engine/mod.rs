//! `engine probe`: what does this server keep, and what would be lost?

mod inspect;
mod report;

pub use inspect::inspect;
pub use report::{Check, EngineReport, State};
