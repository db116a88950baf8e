//! The one schema of what happened.
//!
//! The invariants this crate keeps: a turn exists once a [`TurnCommitted`] exists, and everything
//! that is known of it is in there; every loss (a field ignored, a message re-spelt, a token masked,
//! a Group dropped) is one [`Cause`]. Logs, metrics, reports and the viewer fold these events; they
//! keep no counters of their own.
//!
//! Pure: no I/O, no async, no clock.

mod cause;
mod event;
mod ids;
mod record;
mod turn;

pub use cause::Cause;
pub use event::{Event, Observer, Observers, OptimizerStep};
pub use ids::{GroupId, NodeId, SessionId};
pub use record::record;
pub use turn::{Finish, Generated, Observed, Timings, TurnCommitted};
