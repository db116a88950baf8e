//! The binary as a user runs it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

mod agents;
mod commands;
mod support;
mod verify;
