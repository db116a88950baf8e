//! The strict matcher: what was said must come back as it was said.

use std::borrow::Cow;

use crate::{Content, Key, Matcher, Message, ToolCall, Verdict};

/// Role, content, reasoning and calls must be equal; absent, null and empty are one.
///
/// This is the `strict` of Miles' session server: argument text is compared byte by byte, a list of
/// parts is not its text, and `name` and `tool_call_id` are not looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strict;

impl Matcher for Strict {
    fn name(&self) -> &str {
        "strict"
    }

    fn key(&self, message: &Message) -> Key {
        let content = spelling(&message.content);
        let reasoning = message.reasoning.as_deref().unwrap_or_default();
        let calls = message.tool_calls.iter().map(|call| call.name.as_bytes());
        Key::of(
            [message.role.as_str().as_bytes(), content.as_bytes(), reasoning.as_bytes()]
                .into_iter()
                .chain(images(&message.content))
                .chain(calls),
        )
    }

    fn judge(&self, stored: &Message, sent: &Message) -> Verdict {
        let same = stored.role == sent.role
            && same_content(&stored.content, &sent.content)
            && stored.reasoning.as_deref().unwrap_or_default()
                == sent.reasoning.as_deref().unwrap_or_default()
            && same_calls(&stored.tool_calls, &sent.tool_calls);
        if same { Verdict::Exact } else { Verdict::Different }
    }
}

fn is_empty(content: &Content) -> bool {
    match content {
        Content::Absent => true,
        Content::Text(text) => text.is_empty(),
        Content::Parts(parts) => parts.is_empty(),
    }
}

pub(crate) fn same_content(stored: &Content, sent: &Content) -> bool {
    stored == sent || (is_empty(stored) && is_empty(sent))
}

/// A text that differs between contents whose text differs, the empty ones apart.
pub(crate) fn spelling(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Parts(parts) if !parts.is_empty() => Cow::Owned(format!("parts\u{0}{}", content.text())),
        other => other.text(),
    }
}

/// What a key holds of a content's images: nothing, where there is none.
pub(crate) fn images(content: &Content) -> impl Iterator<Item = &[u8]> {
    content.images().map(|(_, image)| &image.sha256()[..])
}

fn same_calls(stored: &[ToolCall], sent: &[ToolCall]) -> bool {
    stored.len() == sent.len() && stored.iter().zip(sent).all(|(a, b)| a == b)
}
