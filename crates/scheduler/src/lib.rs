//! When a turn may run, when an agent starts, and what becomes of its Group: one state machine without I/O.
//!
//! The invariants this crate keeps: no more turns run than there are permits; a closed gate starts nothing;
//! every turn that arrived ends exactly once; a turn is held at most until its deadline; a Group samples
//! only once all its first requests were there, and only for a step that was stamped before; a Group's end
//! is told once, after all its sessions have exited. Permits, agents, what a step still needs and how far
//! ahead rollout is are counted from what exists, never kept in a counter.
//!
//! A shell feeds it [`Input`]s with the time they happened at, executes the [`Action`]s, and sends
//! [`Input::Tick`] at [`Scheduler::wake_at`]. A simulation does the same with a clock of its own.
//!
//! Pure: no I/O, no async, no clock.

mod action;
mod admission;
mod ahead;
mod group;
mod ids;
mod meter;
mod resident;
mod rules;
mod scheduler;
mod step;
mod team;
mod turns;

pub use action::{Action, Ended, Exit, Input, Running, StopCause};
pub use admission::{Budget, Cost};
pub use group::{DropCause, Unwanted};
pub use ids::{GroupId, SessionId, Step, TurnId};
pub use rules::{Asked, Mode, Rules, RulesError};
pub use scheduler::{Limits, Scheduler};
pub use step::{Opened, Stand};
