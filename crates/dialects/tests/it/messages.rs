//! Every kind of message.

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Part, Role, ToolCall};
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Forgetful, Invalid, Wire};
use verbatim_events::Cause;

/// Parses the second of two messages.
fn read(message: &Value) -> Result<(Message, Vec<Cause>), Invalid> {
    let body = json!({"messages": [{"role": "user", "content": "q"}, message]}).to_string();
    let request = Request::parse(body.as_bytes()).unwrap();
    let mut lost = Vec::new();
    request.message(1, &Forgetful, &mut lost).map(|message| (message, lost))
}

fn taken(message: Value) -> Message {
    let (read, lost) = read(&message).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(lost, [], "{message}");
    read
}

#[test]
fn every_role_is_read() {
    for (wire, role) in
        [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)]
    {
        assert_eq!(taken(json!({"role": wire, "content": "x"})), Message::new(role, "x"));
    }
}

#[test]
fn a_developer_is_a_system_and_that_is_reported() {
    let (message, lost) = read(&json!({"role": "developer", "content": "x"})).unwrap();
    assert_eq!(message, Message::new(Role::System, "x"));
    assert_eq!(lost, [Cause::RoleMapped { from: "developer".into() }]);
}

#[test]
fn absent_empty_and_parts_are_three_spellings() {
    let said = |fields: Value| taken(fields).content;
    assert_eq!(said(json!({"role": "assistant"})), Content::Absent);
    assert_eq!(said(json!({"role": "assistant", "content": null})), Content::Absent);
    assert_eq!(said(json!({"role": "assistant", "content": ""})), Content::Text(String::new()));
    assert_eq!(said(json!({"role": "user", "content": []})), Content::Parts(vec![]));
    let parts = json!([{"type": "text", "text": "a"}, {"text": "b", "type": "text", "annotations": null}]);
    let expected = Content::Parts(vec![Part::Text("a".into()), Part::Text("b".into())]);
    assert_eq!(said(json!({"role": "tool", "content": parts})), expected);
}

#[test]
fn arguments_keep_the_spelling_they_came_in() {
    let call = |arguments: Value| {
        let call = json!({"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": arguments}});
        taken(json!({"role": "assistant", "content": null, "tool_calls": [call]})).tool_calls.remove(0)
    };
    let table = [
        (json!("{ \"a\" :1}"), Arguments::Text("{ \"a\" :1}".into())),
        (json!("{broken"), Arguments::Text("{broken".into())),
        (json!({"z": 1, "a": 2}), Arguments::Json(json!({"z": 1, "a": 2}))),
        (json!(null), Arguments::Text(String::new())),
    ];
    for (wire, arguments) in table {
        assert_eq!(call(wire), ToolCall { id: Some("c".into()), name: "f".into(), arguments });
    }
    let bare = json!({"function": {"name": "f"}});
    let bare = taken(json!({"role": "assistant", "tool_calls": [bare]})).tool_calls.remove(0);
    assert_eq!(bare, ToolCall { id: None, name: "f".into(), arguments: Arguments::Text(String::new()) });
}

#[test]
fn reasoning_names_and_call_ids_are_kept() {
    for wire in ["reasoning_content", "reasoning"] {
        let message = taken(json!({"role": "assistant", "content": "x", wire: "hm"}));
        assert_eq!(message.reasoning.as_deref(), Some("hm"));
    }
    let message = taken(json!({"role": "tool", "content": "x", "tool_call_id": "c", "name": "f"}));
    assert_eq!((message.tool_call_id.as_deref(), message.name.as_deref()), (Some("c"), Some("f")));
}

#[test]
fn what_a_message_holds_beyond_that_is_reported_by_name() {
    let user = |extra: &str, value: Value| json!({"role": "user", "content": "x", extra: value});
    let part = json!([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]);
    let call = |call: Value| json!({"role": "assistant", "tool_calls": [call]});
    let table = [
        (user("extra", json!(1)), "messages[].extra"),
        (user("reasoning_content", json!("hm")), "messages[].reasoning_content"),
        (user("tool_call_id", json!("c")), "messages[].tool_call_id"),
        (user("tool_calls", json!([])), "messages[].tool_calls"),
        (json!({"role": "assistant", "content": "x", "refusal": "no"}), "messages[].refusal"),
        (json!({"role": "user", "content": part}), "messages[].content[].cache_control"),
        (call(json!({"function": {"name": "f"}, "extra": 1})), "messages[].tool_calls[].extra"),
        (call(json!({"function": {"name": "f", "extra": 1}})), "messages[].tool_calls[].function.extra"),
    ];
    for (message, field) in table {
        let (_, lost) = read(&message).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lost, [Cause::FieldIgnored { field: field.into() }]);
    }
    for field in ["annotations", "audio", "refusal", "function_call", "tool_calls"] {
        taken(json!({"role": "assistant", "content": "x", field: null}));
    }
}

#[test]
fn what_is_no_message_is_refused_with_its_place() {
    let roles = "must be one of \"system\", \"developer\", \"user\", \"assistant\", \"tool\"";
    let assistant = |calls: Value| json!({"role": "assistant", "tool_calls": calls});
    let content = |content: Value| json!({"role": "user", "content": content});
    let table = [
        (json!({"content": "x"}), ".role", roles.to_owned()),
        (json!({"role": "function", "content": "x"}), ".role", format!("\"function\" {roles}")),
        (
            json!({"role": "user", "content": null}),
            ".content",
            "must be a string or a list of parts; only an assistant's may be null".into(),
        ),
        (content(json!(7)), ".content", "7 is not a string or a list of parts".into()),
        (content(json!(["x"])), ".content[0].type", "must be \"text\" or \"image_url\"".into()),
        (content(json!([{"type": "text"}])), ".content[0].text", "must be a string".into()),
        (
            content(json!([{"type": "text", "text": ""}, {"type": "image_url"}])),
            ".content[1].image_url",
            "must be an object with a url".into(),
        ),
        (assistant(json!({})), ".tool_calls", "{} is not a list of tool calls".into()),
        (assistant(json!([{"id": "c"}])), ".tool_calls[0].function", "must be an object".into()),
        (
            assistant(json!([{"function": {"arguments": "{}"}}])),
            ".tool_calls[0].function.name",
            "must be a string".into(),
        ),
        (
            assistant(json!([{"function": {"name": "f", "arguments": 5}}])),
            ".tool_calls[0].function.arguments",
            "5 is neither JSON text nor an object".into(),
        ),
        (
            assistant(json!([{"id": 5, "function": {"name": "f"}}])),
            ".tool_calls[0].id",
            "5 is not a string".into(),
        ),
        (
            json!({"role": "assistant", "function_call": {"name": "f"}}),
            ".function_call",
            "is not supported; use tool_calls".into(),
        ),
        (json!({"role": "user", "content": "x", "name": 5}), ".name", "5 is not a string".into()),
        (
            json!({"role": "assistant", "reasoning_content": {"a": 1}}),
            ".reasoning_content",
            "{\"a\":1} is not a string".into(),
        ),
    ];
    for (message, field, problem) in table {
        assert_eq!(read(&message).unwrap_err(), Invalid::new(format!("messages[1]{field}"), problem));
    }
    let refused = read(&json!("hello")).unwrap_err();
    assert!(refused.to_string().starts_with("messages[1]: \"hello\" is not an object"), "{refused}");
}
