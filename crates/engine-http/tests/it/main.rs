//! The clients against servers: every conformance vector of the engines' contracts, every fault, and
//! engines that pause, fail and come back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed assumption fails the test"
)]

mod control;
mod forms;
mod images;
mod pool;
mod replies;
mod samples;
mod support;
mod vectors;
