//! A conversation that has been split but not parsed.

use verbatim_chat::{Chain, Message, Setup};
use verbatim_events::Cause;

use crate::{Invalid, Recall};

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

    /// The reply that these messages follow, where the request names it instead of sending what led to it.
    fn continues(&self) -> Option<Continued<'_>> {
        None
    }

    /// Whether calls come with their arguments parsed, so that how they were spelt is lost.
    fn parses_arguments(&self) -> bool {
        false
    }

    /// Tools and template arguments; what they hold beyond a [`Setup`] is reported in `lost`.
    ///
    /// # Errors
    /// [`Invalid`] if they are malformed.
    fn setup(&self, lost: &mut Vec<Cause>) -> Result<Setup, Invalid>;

    /// Parses message `at`; what it holds beyond a [`Message`] is reported in `lost`.
    ///
    /// # Errors
    /// [`Invalid`] if it is malformed, or names what `recall` does not know.
    fn message(&self, at: usize, recall: &dyn Recall, lost: &mut Vec<Cause>) -> Result<Message, Invalid>;
}

/// A reply that a request follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continued<'a> {
    /// The field that names it.
    pub field: &'static str,
    /// Its id.
    pub response: &'a str,
    /// How many of the request's messages stand at the beginning of the conversation and not after the reply.
    pub front: usize,
}
