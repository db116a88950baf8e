//! An event log, read back.
//!
//! The invariant: events stand in the order in which they happened; one that this version does not know is kept as
//! unknown, and a line that is no event is an error.

mod entry;
mod sessions;

pub use entry::{Entry, LogError, read_log};
pub use sessions::{SessionLog, TurnLog, sessions};
