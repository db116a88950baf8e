//! Three dialects: what is taken, refused, ignored, and how replies read on the wire.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod asked;
mod chains;
mod equal;
mod fields;
mod hostile;
mod images;
mod messages;
mod replies;
mod streams;
mod told;
mod tools;
mod types;
