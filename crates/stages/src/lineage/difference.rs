//! Where two conversations part, shown small.
//!
//! The invariant: what is shown of a long text is the place where it differs, and the cut is marked.

use serde::Serialize;
use serde_json::Value;
use verbatim_chat::{Message, Role};

/// Characters of a text that are shown.
const SHOWN: usize = 56;

/// Two messages in the same place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The place, counted from 0.
    pub at: usize,
    /// The lines of the small diff: `-` is what was there before, `+` what was sent.
    pub lines: Vec<String>,
}

impl Difference {
    /// Between what stood there and what was sent; none where nothing stood there.
    pub(super) fn new(at: usize, stored: Option<&Message>, sent: Option<&Message>) -> Self {
        let (before, after) = (fields(stored), fields(sent));
        let names = before.iter().chain(&after).map(|(name, _)| name.clone());
        let mut seen: Vec<String> = Vec::new();
        let mut lines = Vec::new();
        for name in names {
            if seen.contains(&name) {
                continue;
            }
            let find = |fields: &[(String, String)]| {
                fields.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone())
            };
            let (old, new) = (find(&before), find(&after));
            seen.push(name.clone());
            if old == new {
                continue;
            }
            let from = match (&old, &new) {
                (Some(old), Some(new)) => old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count(),
                _ => 0,
            };
            lines.extend(old.map(|text| format!("- {name}: {}", window(&text, from))));
            lines.extend(new.map(|text| format!("+ {name}: {}", window(&text, from))));
        }
        Self { at, lines }
    }
}

fn window(text: &str, from: usize) -> String {
    let start = from.saturating_sub(SHOWN / 3);
    let shown: String = text.chars().skip(start).take(SHOWN).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().count() > start + SHOWN { "…" } else { "" };
    format!("{before}{}{after}", Value::from(shown))
}

/// A message as named texts.
fn fields(message: Option<&Message>) -> Vec<(String, String)> {
    let Some(message) = message else { return Vec::new() };
    let mut fields = vec![("role".to_owned(), message.role.as_str().to_owned())];
    let content = match &message.content {
        verbatim_chat::Content::Absent => String::new(),
        verbatim_chat::Content::Text(text) => text.clone(),
        verbatim_chat::Content::Parts(_) => format!("[parts] {}", message.content.text()),
    };
    if !content.is_empty() || message.role != Role::Assistant {
        fields.push(("content".to_owned(), content));
    }
    fields.extend(message.reasoning.clone().map(|text| ("reasoning".to_owned(), text)));
    fields.extend(message.tool_call_id.clone().map(|id| ("tool_call_id".to_owned(), id)));
    for (at, call) in message.tool_calls.iter().enumerate() {
        fields.extend(call.id.clone().map(|id| (format!("call {at} id"), id)));
        fields.push((format!("call {at} name"), call.name.clone()));
        fields.push((format!("call {at} arguments"), call.arguments.text().into_owned()));
    }
    fields
}
