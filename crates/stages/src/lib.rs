//! Stages and their reports: what a user runs to be convinced.
//!
//! The invariant this crate keeps: a verdict is computed from evidence and says which; what there is no evidence for is
//! unknown, and never passes.

pub mod assess;
pub mod bridge;
pub mod check;
pub mod demonstrate;
pub mod diagnose;
pub mod engine;
pub mod lineage;
pub mod log;
pub mod page;
pub mod recording;
pub mod route;
pub mod verify;
