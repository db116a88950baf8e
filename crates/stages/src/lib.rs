//! Stages and their reports: what a user runs to be convinced.
//!
//! The invariant this crate keeps: a verdict is computed from evidence and says which.

pub mod engine;
pub mod verify;
