//! The canonical conversation, and what makes two of its messages the same.
//!
//! The invariant this crate keeps: a [`Message`] holds everything a model family may render, in
//! the spelling it came in, whichever dialect carried it; nothing here normalises. What counts as
//! "the same message again" is a [`Matcher`]'s judgement, never the type's.
//!
//! Pure: no I/O, no async, no clock.

mod key;
mod loose_replay;
mod matcher;
mod message;
mod setup;
mod start;
mod strict;

pub use key::{Chain, Key};
pub use loose_replay::LooseReplay;
pub use matcher::{Matcher, UnknownMatcher, Verdict, matcher_by_name};
pub use message::{Arguments, Content, Message, Part, Role, ToolCall};
pub use setup::{Setup, Tool};
pub use start::StartState;
pub use strict::Strict;
