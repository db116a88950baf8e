//! Rows against a walk of our own, and files against what was put into them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod assembly;
mod contexts;
mod files;
mod formats;
mod golden;
mod grove;
mod images;
mod layout;
mod malformed;
mod miles;
mod oracle;
mod picks;
mod rows;
