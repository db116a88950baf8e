//! The matcher that forgives how arguments are spelt, and nothing else.

use crate::{Arguments, Key, Matcher, Message, Strict, ToolCall, Verdict, canonical};

/// Accepts what [`Strict`] accepts, and calls whose arguments are the same JSON object in another spelling.
///
/// This is the `loose_tool_call` of Miles' session server: absent, empty and `{}` arguments are one; numbers are
/// compared as exact decimals; arguments that are not strictly a JSON object are compared as they are. Ids and
/// names must be equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct LooseToolCall;

impl Matcher for LooseToolCall {
    fn name(&self) -> &str {
        "loose_tool_call"
    }

    fn key(&self, message: &Message) -> Key {
        Strict.key(message)
    }

    fn judge(&self, stored: &Message, sent: &Message) -> Verdict {
        if Strict.judge(stored, sent) == Verdict::Exact {
            return Verdict::Exact;
        }
        let uncalled = |message: &Message| Message { tool_calls: Vec::new(), ..message.clone() };
        let same = stored.tool_calls.len() == sent.tool_calls.len()
            && Strict.judge(&uncalled(stored), &uncalled(sent)) == Verdict::Exact
            && stored.tool_calls.iter().zip(&sent.tool_calls).all(|(a, b)| same_call(a, b));
        if same { Verdict::Equivalent } else { Verdict::Different }
    }
}

fn same_call(stored: &ToolCall, sent: &ToolCall) -> bool {
    stored.id == sent.id
        && stored.name == sent.name
        && match (spelling(&stored.arguments), spelling(&sent.arguments)) {
            (Some(a), Some(b)) => a == b,
            _ => stored.arguments == sent.arguments,
        }
}

fn spelling(arguments: &Arguments) -> Option<String> {
    match arguments.text().as_ref() {
        "" => canonical::object("{}"),
        text => canonical::object(text),
    }
}
