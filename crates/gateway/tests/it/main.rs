//! The HTTP face, over real sockets, on a simulated engine that speaks a real family's ids.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

mod access;
mod adapters;
mod anthropic;
mod bad_input;
mod chat;
mod completions;
mod faults;
mod forms;
mod images;
mod journal;
mod life;
mod lineage;
mod miles;
mod permuted;
mod races;
mod responses;
mod retries;
mod rows;
mod support;
mod switching;
mod wire;
