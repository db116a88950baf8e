//! The matcher for real agents, which re-spell what they were told.

use serde_json::Value;

use crate::{Arguments, Key, Matcher, Message, Strict, ToolCall, Verdict};

/// Accepts what [`Strict`] accepts and, beyond it, what agents are seen to do to a turn between
/// receiving and replaying it:
///
/// - reasoning is dropped (a *different* reasoning is still a different message);
/// - null, empty and absent content are one, a list of text parts equals its text;
/// - argument text is re-serialised: calls match by id, name and parsed arguments.
///
/// Of seventeen recorded chat agents ten re-serialise arguments, nine drop reasoning, seven turn
/// null content into something else and four send parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct LooseReplay;

impl Matcher for LooseReplay {
    fn name(&self) -> &str {
        "loose_replay"
    }

    fn key(&self, message: &Message) -> Key {
        let content = message.content.text();
        let calls = message.tool_calls.iter().map(|call| call.name.as_bytes());
        Key::of([message.role.as_str().as_bytes(), content.as_bytes()].into_iter().chain(calls))
    }

    fn judge(&self, stored: &Message, sent: &Message) -> Verdict {
        if Strict.judge(stored, sent) == Verdict::Exact {
            return Verdict::Exact;
        }
        let same = stored.role == sent.role
            && stored.content.text() == sent.content.text()
            && same_reasoning(stored, sent)
            && agree(&stored.tool_call_id, &sent.tool_call_id)
            && stored.tool_calls.len() == sent.tool_calls.len()
            && stored.tool_calls.iter().zip(&sent.tool_calls).all(|(a, b)| same_call(a, b));
        if same { Verdict::Equivalent } else { Verdict::Different }
    }
}

fn same_reasoning(stored: &Message, sent: &Message) -> bool {
    match sent.reasoning.as_deref() {
        None | Some("") => true,
        Some(text) => stored.reasoning.as_deref() == Some(text),
    }
}

/// Whether two call ids contradict each other. Ids are unique, so equal ones are decisive; agents
/// without the field lose nothing.
fn agree(stored: &Option<String>, sent: &Option<String>) -> bool {
    match (stored, sent) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

fn same_call(stored: &ToolCall, sent: &ToolCall) -> bool {
    agree(&stored.id, &sent.id)
        && stored.name == sent.name
        && same_arguments(&stored.arguments, &sent.arguments)
}

fn same_arguments(stored: &Arguments, sent: &Arguments) -> bool {
    if stored == sent {
        return true;
    }
    match (stored.parsed(), sent.parsed()) {
        (Some(a), Some(b)) => same_json(&a, &b),
        _ => false,
    }
}

/// JSON equality as a reader would have it: objects unordered, `1` equal to `1.0`, `true` not `1`.
fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || (x.as_f64().is_some() && x.as_f64() == y.as_f64()),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_json(a, b))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, a)| y.get(name).is_some_and(|b| same_json(a, b)))
        }
        _ => a == b,
    }
}
