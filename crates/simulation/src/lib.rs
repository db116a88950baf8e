//! Rollouts in virtual time: engine, agents, tools and trainer drawn from a seed, around the real scheduler.
//!
//! The invariant: the same [`Setup`] gives the same history. [`run`] checks every promise of the scheduler
//! after every step with a book of its own, and returns the first one that was broken.
//!
//! Pure: no I/O, no async, no clock.

mod agent;
mod book;
mod draw;
mod engine;
mod measure;
mod setup;
mod trainer;
mod world;

pub use book::Broken;
pub use draw::Tail;
pub use measure::Measured;
pub use setup::{Faults, Setup, Trainer, Workload};
pub use world::run;
