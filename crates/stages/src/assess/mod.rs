//! Stage A: can this agent be trained, and what must change first?
//!
//! The invariant: the assessment is a function of recordings and of what is declared; it says READY only of an agent
//! whose requests were all read, and were linear or branch as declared.

mod adapt;
mod client;
mod ending;
mod judge;
mod recorder;
mod report;
mod syntax;

pub use adapt::{Adaptation, Need};
pub use client::Client;
pub(crate) use judge::adaptations_of;
pub use judge::{Assessment, Evidence, Execution, Readiness, Run, assess};
pub use recorder::{Recorder, Upstream};
pub use syntax::{Syntax, syntaxes};
