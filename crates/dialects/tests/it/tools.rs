//! Tools and template arguments: the root of a conversation.

use serde_json::{Value, json};
use verbatim_chat::{Setup, Tool};
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Invalid, Wire};

fn setup(fields: Value) -> Result<Setup, Invalid> {
    let mut body = fields;
    body["messages"] = json!([{"role": "user", "content": "q"}]);
    Request::parse(body.to_string().as_bytes()).unwrap().setup(&mut Vec::new())
}

fn tool() -> Value {
    json!({"type": "function", "function": {"name": "f", "parameters": {"z": 1, "a": 2}}, "x": null})
}

#[test]
fn a_tool_is_kept_as_it_was_declared() {
    let declared = setup(json!({"tools": [tool()]})).unwrap().tools;
    assert_eq!(declared, [Tool(tool())]);
    assert_eq!(declared[0].0.to_string(), tool().to_string(), "in the order of its keys");
}

#[test]
fn tool_choice_none_hides_the_tools() {
    assert_eq!(setup(json!({"tools": [tool()], "tool_choice": "none"})).unwrap().tools, []);
    assert_eq!(setup(json!({"tool_choice": "none", "tools": [tool()]})).unwrap().tools, []);
    assert_eq!(setup(json!({"tools": [tool()], "tool_choice": "auto"})).unwrap().tools.len(), 1);
}

#[test]
fn template_arguments_are_kept_in_order() {
    let template = setup(json!({"chat_template_kwargs": {"z": true, "a": [1]}})).unwrap().template;
    assert_eq!(Value::Object(template).to_string(), r#"{"z":true,"a":[1]}"#);
}

#[test]
fn what_is_no_declaration_is_refused_with_its_place() {
    let table = [
        (json!({"tools": {}}), "tools", "{} is not a list of tools"),
        (json!({"tools": [1]}), "tools[0].type", "must be \"function\"; other tools are not supported"),
        (
            json!({"tools": [tool(), {"type": "web_search"}]}),
            "tools[1].type",
            "must be \"function\"; other tools are not supported",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": ""}}]}),
            "tools[0].function.name",
            "must be a non-empty string",
        ),
        (json!({"chat_template_kwargs": [1]}), "chat_template_kwargs", "[1] is not an object"),
    ];
    for (fields, field, problem) in table {
        assert_eq!(setup(fields), Err(Invalid::new(field, problem)));
    }
}
