//! Processes that end with their owner, descendants included.
//!
//! The invariant this crate keeps: when a [`Process`] has reported its [`Exit`], nothing that it
//! started is alive, escapees of its process group included; and when its owner dies, however it
//! dies, the same happens.
//!
//! Each process runs under a launcher: the owner's own binary, run again as `verbatim launcher`. The
//! launcher makes itself the reaper of all its descendants (a process that calls `setsid` leaves its
//! group, but not its reaper), holds one end of a pipe to the owner, and kills what it started when
//! the pipe closes.

mod error;
mod exit;
pub mod launcher;
mod log;
mod process;
mod spec;

pub use error::ProcessError;
pub use exit::Exit;
pub use log::tail;
pub use process::{Launcher, Process};
pub use spec::{Inherit, Spec};
