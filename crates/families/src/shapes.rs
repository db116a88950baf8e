//! The shapes of conversations that agents have.
//!
//! The invariant: a shape says who speaks when, and its messages are the same each time. They are
//! those over which Miles checks templates (Miles §8), and a few more.

use verbatim_chat::{Arguments, Message, Role, ToolCall};

/// Each shape's name, and its messages: system, user, assistant with so many calls, tool; `r` for
/// reasoning.
pub(crate) const SHAPES: &[(&str, &str)] = &[
    ("multi_turn_no_tool", "S U A U"),
    ("multi_turn_no_system", "U A U A U"),
    ("simple_no_tool", "S U A S U A"),
    ("single_tool", "S U A1 T"),
    ("multi_turn", "S U A1 T A1 T"),
    ("multi_tool_single_turn", "S U A2 T T"),
    ("parallel_tools", "S U A3 T T T"),
    ("long_chain", "S U A1 T A1 T A1 T"),
    ("retry_system", "S U A1 T S A1 T"),
    ("multi_user_tool_chain", "S U A1 T A U A1 T A1 T"),
    ("intermediate_system", "S U A1 T S A1 T S A1 T S"),
    ("multi_role_sequence", "S U A1 T U A1 S T A"),
    ("multi_turn_no_tool_thinking", "S U Ar U"),
    ("single_tool_thinking", "S U A1r T U A1r T U Ar"),
    ("multi_turn_thinking", "S U A1r T A1r T"),
    ("multi_user_turn_thinking", "S U A1r T Ar U A1r T"),
    ("intermediate_system_thinking", "S U A1r T S A1r T S A1r T S"),
];

/// Every shape by its name, with its messages; those with tool results call the function `f` with
/// an integer `n`.
pub fn shapes() -> impl Iterator<Item = (&'static str, Vec<Message>)> {
    SHAPES.iter().map(|(name, shape)| (*name, messages(shape)))
}

/// The messages of a shape.
pub(crate) fn messages(shape: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut calls = 0;
    for (at, word) in shape.split(' ').enumerate() {
        let mut message = match word.as_bytes() {
            [b'S', ..] => Message::new(Role::System, format!("Rule {at}.").as_str()),
            [b'U', ..] => Message::new(Role::User, format!("Question {at}?").as_str()),
            [b'T', ..] => Message::new(Role::Tool, format!("Result {at}").as_str()),
            _ => Message::new(Role::Assistant, format!("Answer {at}.").as_str()),
        };
        match message.role {
            Role::Tool => {
                message.tool_call_id = Some(id(calls));
                message.name = Some("f".to_owned());
            }
            Role::Assistant => {
                message.reasoning = word.ends_with('r').then(|| format!("Thought {at}."));
                let count: usize = word.trim_matches(['A', 'r']).parse().unwrap_or(0);
                message.tool_calls = (calls + 1..=calls + count).map(call).collect();
                calls += count;
            }
            _ => {}
        }
        messages.push(message);
    }
    messages
}

/// Nine letters and digits, which is the only length that some templates let pass.
fn id(nth: usize) -> String {
    format!("call{nth:05}")
}

fn call(nth: usize) -> ToolCall {
    let arguments = Arguments::Text(format!("{{\"n\": {nth}}}"));
    ToolCall { id: Some(id(nth)), name: "f".to_owned(), arguments }
}
