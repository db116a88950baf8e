//! One conversation in three dialects is one conversation.

use serde_json::{Value, json};
use verbatim_chat::{LooseReplay, Matcher, Message, Setup, Strict, Verdict};
use verbatim_dialects::{Forgetful, Wire, anthropic, chat, responses};

/// What is rendered.
fn read(wire: &dyn Wire) -> (Setup, Vec<Message>) {
    let mut lost = Vec::new();
    let messages = (0..wire.len()).map(|at| wire.message(at, &Forgetful, &mut lost).unwrap()).collect();
    (wire.setup(&mut lost).unwrap(), messages)
}

fn of_chat(body: &Value) -> (Setup, Vec<Message>) {
    read(&chat::Request::parse(body.to_string().as_bytes()).unwrap())
}

fn of_responses(body: &Value) -> (Setup, Vec<Message>) {
    read(&responses::Request::parse(body.to_string().as_bytes(), "m").unwrap())
}

fn of_anthropic(body: &Value) -> (Setup, Vec<Message>) {
    read(&anthropic::Request::parse(body.to_string().as_bytes()).unwrap())
}

/// A name, and one conversation as chat, Responses and Anthropic carry it.
type Case = (&'static str, Value, Value, Value);

fn cases() -> Vec<Case> {
    let schema = json!({"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]});
    let user = json!({"role": "user", "content": "q"});
    let text = |kind: &str| json!([{"type": kind, "text": "a"}, {"type": kind, "text": "b"}]);
    let call = |id: &str, cmd: &str| json!({"id": id, "type": "function", "function": {"name": "sh", "arguments": format!("{{\"cmd\": {cmd:?}}}")}});
    let item = |id: &str, cmd: &str| json!({"type": "function_call", "call_id": id, "name": "sh", "arguments": format!("{{\"cmd\": {cmd:?}}}")});
    let block =
        |id: &str, cmd: &str| json!({"type": "tool_use", "id": id, "name": "sh", "input": {"cmd": cmd}});
    vec![
        (
            "a system text",
            json!({"messages": [{"role": "system", "content": "s"}, user]}),
            json!({"instructions": "s", "input": "q"}),
            json!({"system": "s", "messages": [user]}),
        ),
        (
            "a system as a list",
            json!({"messages": [{"role": "system", "content": "s\n\nt"}, user]}),
            json!({"input": [{"role": "system", "content": "s\n\nt"}, user]}),
            json!({"system": [{"type": "text", "text": "s"}, {"type": "text", "text": "t"}], "messages": [user]}),
        ),
        (
            "a system in the middle",
            json!({"messages": [user, {"role": "system", "content": "s"}]}),
            json!({"input": [user, {"type": "message", "role": "system", "content": "s"}]}),
            json!({"messages": [user, {"role": "system", "content": "s"}]}),
        ),
        (
            "parts",
            json!({"messages": [{"role": "user", "content": text("text")}]}),
            json!({"input": [{"role": "user", "content": text("input_text")}]}),
            json!({"messages": [{"role": "user", "content": text("text")}]}),
        ),
        (
            "tools",
            json!({"messages": [user], "tools": [{"type": "function", "function":
                {"name": "sh", "description": "d", "parameters": schema}}]}),
            json!({"input": "q", "tools": [{"type": "function", "strict": false, "parameters": schema,
                "name": "sh", "description": "d"}, {"type": "web_search"}]}),
            json!({"messages": [user], "tools": [{"name": "sh", "input_schema": schema, "description": "d",
                "cache_control": {"type": "ephemeral"}}]}),
        ),
        (
            "tools that are hidden",
            json!({"messages": [user], "tool_choice": "none", "tools": [{"type": "function", "function": {"name": "sh"}}]}),
            json!({"input": "q", "tool_choice": "none", "tools": [{"type": "function", "name": "sh"}]}),
            json!({"messages": [user], "tool_choice": {"type": "none"}, "tools": [{"name": "sh", "input_schema": {}}]}),
        ),
        (
            "thinking",
            json!({"messages": [user, {"role": "assistant", "reasoning_content": "hm", "content": "a"}, user]}),
            json!({"input": [user, {"type": "reasoning", "id": "rs_1", "summary": [],
                "content": [{"type": "reasoning_text", "text": "hm"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}, user]}),
            json!({"messages": [user, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "SIG=="}, {"type": "text", "text": "a"}]}, user]}),
        ),
        (
            "calls and their results",
            json!({"messages": [user, {"role": "assistant", "content": "a", "tool_calls": [call("c1", "x"), call("c2", "y")]},
                {"role": "tool", "tool_call_id": "c2", "content": "2"},
                {"role": "tool", "tool_call_id": "c1", "content": text("text")}, user]}),
            json!({"input": [user, {"role": "assistant", "content": "a"}, item("c1", "x"), item("c2", "y"),
                {"type": "function_call_output", "call_id": "c2", "output": "2"},
                {"type": "function_call_output", "call_id": "c1", "output": text("input_text")}, user]}),
            json!({"messages": [user, {"role": "assistant", "content":
                [{"type": "text", "text": "a"}, block("c1", "x"), block("c2", "y")]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c2", "content": "2", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "c1", "content": text("text"),
                        "cache_control": {"type": "ephemeral"}}]}, user]}),
        ),
        (
            "calls and no text",
            json!({"messages": [user, {"role": "assistant", "content": null, "tool_calls": [call("c1", "x")]}]}),
            json!({"input": [user, item("c1", "x")]}),
            json!({"messages": [user, {"role": "assistant", "content": [block("c1", "x")]}]}),
        ),
        (
            "whether to think",
            json!({"messages": [user], "chat_template_kwargs": {"enable_thinking": false}}),
            json!({"input": "q", "reasoning": {"effort": "none"}}),
            json!({"messages": [user], "thinking": {"type": "disabled"}}),
        ),
    ]
}

#[test]
fn one_conversation_is_the_same_in_every_dialect() {
    for (name, chat, responses, anthropic) in cases() {
        let (setup, messages) = of_chat(&chat);
        let (other_setup, others) = of_responses(&responses);
        assert_eq!((&setup, &messages), (&other_setup, &others), "{name}");
        let (other_setup, others) = of_anthropic(&anthropic);
        assert_eq!(setup, other_setup, "{name}");
        assert_eq!(messages.len(), others.len(), "{name}");
        for (one, other) in messages.iter().zip(&others) {
            // Arguments come parsed in this dialect: they are one for whom spelling does not count.
            let verdict = LooseReplay.judge(one, other);
            let expected = if one.tool_calls.is_empty() { Verdict::Exact } else { Verdict::Equivalent };
            assert_eq!(verdict, expected, "{name}: {one:?} {other:?}");
            assert_eq!(Strict.key(one), Strict.key(other), "{name}");
            assert_eq!(LooseReplay.key(one), LooseReplay.key(other), "{name}");
        }
    }
}
