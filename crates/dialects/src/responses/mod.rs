//! OpenAI Responses.
//!
//! Source: the OpenAI API reference for `POST /v1/responses` and the shapes that its official SDKs, Codex and the
//! agents built on them send and accept.
//!
//! The invariant: a reply's items, sent back as input in any way an agent is known to (whole, by reference, with
//! their reasoning left out or sealed), are the one assistant's message that was replied.

mod assistant;
mod content;
mod echo;
mod events;
mod head;
mod input;
mod items;
mod reply;
mod request;
mod stream;
mod tools;

pub use echo::Echo;
pub use reply::{Failure, Response};
pub use request::Request;
pub use stream::Stream;

/// What the id of a reply begins with.
pub const PREFIX: &str = "resp_";
