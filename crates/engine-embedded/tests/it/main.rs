//! The engine on a real model (SmolLM2 135M) and on tiny random ones.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's own functions may fail as its test does"
)]

mod batch;
mod cache;
mod model;
mod naive;
mod replace;
mod reply;
mod sampling;
mod scoring;
mod tiny;
mod tokenizer;
