//! What stages say of what they are shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod blocks;
mod causes;
mod demonstrated;
mod pages;
mod parser;
mod recorded;
mod session;
mod template;
mod verdicts;
mod world;
