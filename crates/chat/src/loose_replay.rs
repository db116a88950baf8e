//! The matcher for real agents, which re-spell what they were told.

use crate::canonical::{self, Twice};
use crate::strict::images;
use crate::{Arguments, Key, Matcher, Message, Strict, ToolCall, Verdict};

/// Accepts what [`Strict`] accepts and, beyond it, what agents are seen to do to a turn between
/// receiving and replaying it:
///
/// - reasoning is dropped (a *different* reasoning is still a different message);
/// - null, empty and absent content are one, a list of text parts equals its text (images must be
///   the same, at the same places);
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
        let said = [message.role.as_str().as_bytes(), content.as_bytes()];
        Key::of(said.into_iter().chain(images(&message.content)).chain(calls))
    }

    fn judge(&self, stored: &Message, sent: &Message) -> Verdict {
        if Strict.judge(stored, sent) == Verdict::Exact {
            return Verdict::Exact;
        }
        let same = stored.role == sent.role
            && stored.content.text() == sent.content.text()
            && stored.content.images().eq(sent.content.images())
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
    let spelling = |arguments: &Arguments| canonical::value(&arguments.text(), Twice::Last);
    stored == sent || spelling(stored).is_some_and(|stored| Some(stored) == spelling(sent))
}
