//! Anthropic Messages.
//!
//! Source: the Anthropic API reference for `POST /v1/messages` and the shapes that its official SDKs, Claude Code
//! and the agents built on them send and accept.
//!
//! The invariant: a reply's blocks, sent back as an assistant's message, are the message that was replied, but for
//! the spelling of calls' arguments, which this dialect carries parsed; and where an agent puts its cache marks
//! changes nothing, not even a byte key.

mod block;
mod events;
mod image;
mod message;
mod reply;
mod request;
mod split;
mod stream;
mod tools;

pub use reply::Reply;
pub use request::Request;
pub use stream::Stream;

/// What the id of a reply begins with.
pub const PREFIX: &str = "msg_";
