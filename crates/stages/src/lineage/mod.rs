//! How an agent's requests hang together.
//!
//! The invariant: every request is one [`Transition`], and whatever is not a start or an append has its [`Cause`]. What
//! a recording does not tell is never taken for linear.
//!
//! The rules are those of the resident rollout's audit (reference: Relax §11), under the matcher that the session would
//! use: a turn that comes back in a spelling that it takes for the same is no fork.

mod cause;
mod difference;
mod explain;
mod judge;
mod past;
mod project;
mod step;
mod trace;

pub use cause::Cause;
pub use difference::Difference;
pub use judge::Topology;
pub use project::{Finding, Projected};
pub use step::{Action, Intent, Step, Transition};
pub use trace::{Declared, Lineage, trace};
