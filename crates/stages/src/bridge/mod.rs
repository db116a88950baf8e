//! Stage B: the adapter for an agent, as choices and the files that hold them.
//!
//! The invariant: every choice says what it rests on; one that changes what a row means is marked, and is made only when
//! somebody has said yes. An agent that must change itself gets no adapter.

mod choice;
mod files;

pub use choice::{Choice, Unbridged, choices};
pub use files::{Adapter, launch, rollout};
