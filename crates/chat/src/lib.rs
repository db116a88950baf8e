//! The canonical conversation, and what makes two of its messages the same.
//!
//! The invariant this crate keeps: a [`Message`] holds everything a model family may render, in
//! the spelling it came in, whichever dialect carried it; nothing here normalises. What counts as
//! "the same message again" is a [`Matcher`]'s judgement, never the type's.
//!
//! Pure: no I/O, no async, no clock.

mod by_role;
mod canonical;
mod image;
mod key;
mod loose_replay;
mod loose_tool_call;
mod matcher;
mod message;
mod place;
mod role_content_only;
mod setup;
mod start;
mod strict;

pub use self::image::{Image, ImageError, Media};
pub use by_role::ByRole;
pub use key::{Chain, Key};
pub use loose_replay::LooseReplay;
pub use loose_tool_call::LooseToolCall;
pub use matcher::{Matcher, UnknownMatcher, Verdict, matcher_by_name};
pub use message::{Arguments, Content, Message, Part, Role, ToolCall};
pub use place::{ImagePlace, ImageSpan};
pub use role_content_only::RoleContentOnly;
pub use setup::{Setup, Tool};
pub use start::StartState;
pub use strict::Strict;
