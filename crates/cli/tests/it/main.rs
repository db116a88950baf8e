//! The binary as a user runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed assumption fails the test"
)]

mod agents;
mod commands;
mod engines;
mod evals;
mod examples;
mod rewards;
mod services;
mod skill;
mod stages;
mod stages_refused;
mod stages_wrong;
mod support;
mod verify;
mod vocabulary;
