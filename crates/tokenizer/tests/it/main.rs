//! The tokenizer crate against real vocabularies and against the released library.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod differential;
mod plain_text;
mod splitting;
mod tiktoken;
mod utf8;
mod vocabularies;
