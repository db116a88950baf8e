//! Deciding that a replayed message is one we already hold.

use std::sync::Arc;

use crate::{Key, LooseReplay, LooseToolCall, Message, RoleContentOnly, Strict};

/// What a matcher says of a stored and a sent message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Another message.
    Different,
    /// The same message in another spelling; the stored one stays authoritative.
    Equivalent,
    /// The same message in the same spelling.
    Exact,
}

/// An equality for replayed messages, in two parts: a coarse key to find candidates by, and a
/// judgement between two messages.
///
/// Whatever is judged the same must have the same key; the converse need not hold. The relation
/// need not be transitive.
pub trait Matcher: Send + Sync {
    /// The name it is chosen by.
    fn name(&self) -> &str;
    /// The coarse key of a message.
    fn key(&self, message: &Message) -> Key;
    /// Whether `sent` is `stored` again.
    fn judge(&self, stored: &Message, sent: &Message) -> Verdict;
}

/// No matcher has the asked name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown matcher {name:?}; use one of: loose_replay, loose_tool_call, role_content_only, strict, or the dotted path of a Python function"
)]
pub struct UnknownMatcher {
    /// What was asked for.
    pub name: String,
}

/// The matcher of that name.
///
/// # Errors
/// [`UnknownMatcher`], which lists the names there are.
pub fn matcher_by_name(name: &str) -> Result<Arc<dyn Matcher>, UnknownMatcher> {
    match name {
        "strict" => Ok(Arc::new(Strict)),
        "loose_tool_call" => Ok(Arc::new(LooseToolCall)),
        "role_content_only" => Ok(Arc::new(RoleContentOnly)),
        "loose_replay" => Ok(Arc::new(LooseReplay)),
        _ => Err(UnknownMatcher { name: name.to_owned() }),
    }
}
