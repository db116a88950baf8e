//! The matcher that looks at who speaks and what is said.

use crate::strict::{images, same_content, spelling};
use crate::{Key, Matcher, Message, Strict, Verdict};

/// Role and content must be equal; calls and reasoning are not looked at.
///
/// This is the `role_content_only` of Miles' session server. Turns that differ in their calls alone become one:
/// a lineage may go on after a turn that the agent did not see.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoleContentOnly;

impl Matcher for RoleContentOnly {
    fn name(&self) -> &str {
        "role_content_only"
    }

    fn key(&self, message: &Message) -> Key {
        let content = spelling(&message.content);
        let said = [message.role.as_str().as_bytes(), content.as_bytes()];
        Key::of(said.into_iter().chain(images(&message.content)))
    }

    fn judge(&self, stored: &Message, sent: &Message) -> Verdict {
        if Strict.judge(stored, sent) == Verdict::Exact {
            return Verdict::Exact;
        }
        let same = stored.role == sent.role && same_content(&stored.content, &sent.content);
        if same { Verdict::Equivalent } else { Verdict::Different }
    }
}
