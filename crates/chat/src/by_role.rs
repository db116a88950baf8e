//! The key of whoever judges elsewhere.

use crate::{Key, Matcher, Message, Verdict};

/// Finds every message of the same role. It judges them different: what finds by it asks somebody else.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByRole;

impl Matcher for ByRole {
    fn name(&self) -> &str {
        "by_role"
    }

    fn key(&self, message: &Message) -> Key {
        Key::of([message.role.as_str().as_bytes()])
    }

    fn judge(&self, _: &Message, _: &Message) -> Verdict {
        Verdict::Different
    }
}
