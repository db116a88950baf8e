//! What an attempt samples after, and how it is named.

use std::borrow::Cow;
use std::sync::Arc;

use verbatim_chat::{ImageSpan, Message, Setup};
use verbatim_tokens::TokenId;

/// A fresh name for one attempt: 32 hexadecimal digits, never reused, never a prefix of another
/// (SGLang aborts by prefix).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttemptId(u128);

impl AttemptId {
    /// A new unguessable name.
    pub fn fresh() -> Self {
        Self(rand::random())
    }
}

impl std::fmt::Display for AttemptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Names the session whose prefix an engine may hold; never its secret token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey(pub Arc<str>);

/// Prompt ids and what an engine may want to know of them.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Every id that the model is to have read, the first one first.
    pub ids: Arc<[TokenId]>,
    /// The images that the ids show, in their order; a place is a run of placeholders among the ids.
    pub images: Arc<[ImageSpan]>,
    /// The session, so that its turns meet their own prefix.
    pub session: SessionKey,
    /// The routed experts of positions from this one on are wanted, if the engine reports them.
    pub experts_from: Option<usize>,
    /// Whether the choices of the indexer of sparse attention are wanted. An engine tells all of them.
    pub indexer: bool,
    /// Whether the engine is told whose session it is, because it will be told the session's end.
    pub labelled: bool,
    /// Prefixes are shared only under the same one; not every engine has such a notion.
    pub salt: Option<Arc<str>>,
    /// What the ids spell, for an engine that parses its own replies.
    pub conversation: Option<Arc<Conversation>>,
}

/// A conversation whose rendering is a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Tools and template arguments.
    pub setup: Arc<Setup>,
    /// The messages.
    pub messages: Vec<Arc<Message>>,
}

impl Prompt {
    /// The ids with one placeholder for each image: what an engine is sent that multiplies them itself.
    pub fn collapsed(&self) -> Cow<'_, [TokenId]> {
        if self.images.is_empty() {
            return Cow::Borrowed(&self.ids);
        }
        let (mut ids, mut from) = (Vec::with_capacity(self.ids.len()), 0);
        for image in self.images.iter().map(|image| image.place) {
            ids.extend_from_slice(&self.ids[from..image.end().min(image.start + 1)]);
            from = image.end();
        }
        ids.extend_from_slice(&self.ids[from..]);
        Cow::Owned(ids)
    }

    /// Ids of one session, and nothing else.
    pub fn new(ids: impl Into<Arc<[TokenId]>>, session: SessionKey) -> Self {
        Self {
            ids: ids.into(),
            images: Arc::default(),
            session,
            experts_from: None,
            indexer: false,
            labelled: false,
            salt: None,
            conversation: None,
        }
    }
}
