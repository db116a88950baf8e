//! A conversation that has been split but not parsed.

use verbatim_chat::{Chain, Message, Setup};
use verbatim_events::Cause;

use crate::Invalid;

/// A request's conversation, each message parsed only when it is asked for.
///
/// Byte chains let a session recognise the messages of its last request without parsing them: equal
/// bytes are equal messages.
pub trait Wire {
    /// How many messages there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of the bytes of tools, template arguments and the first `count` messages.
    fn bytes(&self, count: usize) -> Chain;

    /// Tools and template arguments.
    ///
    /// # Errors
    /// [`Invalid`] if they are malformed.
    fn setup(&self) -> Result<Setup, Invalid>;

    /// Parses message `at`; what it holds beyond a [`Message`] is reported in `lost`.
    ///
    /// # Errors
    /// [`Invalid`] if it is malformed.
    fn message(&self, at: usize, lost: &mut Vec<Cause>) -> Result<Message, Invalid>;
}
