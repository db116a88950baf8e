//! When a turn may run and when an agent may start: one state machine without I/O.
//!
//! The invariants this crate keeps: no more turns run than there are permits; a closed gate starts
//! nothing; every turn that arrived ends exactly once; a turn is held at most until its deadline.
//! Permits are counted from the turns that run, never kept in a counter.
//!
//! A shell feeds it [`Input`]s with the time they happened at, executes the [`Action`]s, and sends
//! [`Input::Tick`] at [`Scheduler::wake_at`]. A simulation does the same with a clock of its own.
//!
//! Pure: no I/O, no async, no clock.

mod action;
mod agents;
mod scheduler;
mod turns;

pub use action::{Action, AgentId, Ended, Input, Running, TurnId};
pub use scheduler::{Limits, Scheduler};
