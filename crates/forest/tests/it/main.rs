//! The forest under histories such as agents make, against engines that remember what they read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod anchors;
mod attach;
mod commit;
mod deep;
mod family;
mod histories;
mod linear;
mod oracle;
mod world;
