//! What a request may name instead of sending it.

use std::sync::Arc;

use verbatim_chat::Message;

/// What a session remembers of its replies: agents name items of them, and reasoning that was sealed.
pub trait Recall {
    /// The message that was replied under these digits, which end every id of a reply.
    fn reply(&self, digits: &str) -> Option<Arc<Message>>;
}

/// Remembers nothing, for conversations that are read without a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Recall for Forgetful {
    fn reply(&self, _: &str) -> Option<Arc<Message>> {
        None
    }
}
