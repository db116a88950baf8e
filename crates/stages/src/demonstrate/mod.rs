//! Stage D: the proof, from what happened.
//!
//! The invariant: each of the nine points is a function of the event log, the rows, and what was seen of the machine
//! afterwards; whoever has these gets the same verdicts. A run that was forced is never a PASS.

mod points;
mod report;

pub use points::{Left, Proof, points};
pub use report::Demonstration;
