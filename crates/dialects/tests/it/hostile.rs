//! Bodies that no client should send.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Forgetful, Wire, anthropic, responses};

/// Does everything that can be done with a body, in every dialect.
fn read(body: &[u8]) {
    if let Ok(request) = Request::parse(body) {
        split(&request);
    }
    if let Ok(request) = responses::Request::parse(body, "m") {
        split(&request);
    }
    if let Ok(request) = anthropic::Request::parse(body) {
        split(&request);
    }
}

fn split(wire: &dyn Wire) {
    let _ = wire.setup(&mut Vec::new());
    for at in 0..=wire.len() {
        let _ = wire.bytes(at);
    }
    for at in 0..wire.len() {
        let _ = wire.message(at, &Forgetful, &mut Vec::new());
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "user",
            "assistant",
            "tool",
            "system",
            "text",
            "function",
            "none",
            "é\u{0}",
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
            "item_reference",
            "rs_é",
            "vb1.a.0.b",
            "tool_use",
            "tool_result",
            "thinking",
            "input_text",
        ])
        .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "reasoning",
        "call_id",
        "output",
        "summary",
        "encrypted_content",
        "input",
        "tool_use_id",
        "signature",
        "thinking",
        "cache_control",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn no_change_to_a_body_makes_the_parser_panic(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let body = json!({
            "model": "m", "temperature": 1.0, "stop": ["a"], "tools": [{"type": "function", "function": {"name": "f"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "\u{1F600}"}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
            ],
        });
        let items = json!({
            "instructions": "s", "tools": [{"type": "function", "name": "f"}], "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "\u{1F600}"}]},
                {"type": "reasoning", "summary": [], "encrypted_content": "vb1.a.0.b"},
                {"type": "item_reference", "id": "msg_0123456789abcdef0123456789abcdef"},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "x"},
            ],
        });
        let blocks = json!({
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "f", "input_schema": {}}], "messages": [
                {"role": "user", "content": [{"type": "text", "text": "\u{1F600}"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "vb1.a.0.b"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
            ],
        });
        for body in [body, items, blocks] {
            let mut body = body.to_string().into_bytes();
            let at = at.index(body.len());
            if cut { body.truncate(at) } else { body[at] = byte }
            read(&body);
        }
    }

    #[test]
    fn no_values_make_the_parser_panic(
        messages in prop::collection::vec(values(), 0..4),
        field in prop::sample::select(vec![
            "tools", "stop", "stream_options", "n", "response_format", "tool_choice", "top_k", "system", "thinking",
            "instructions", "include", "text", "metadata", "output_config", "previous_response_id",
        ]),
        value in values(),
    ) {
        read(json!({"messages": messages, field: value}).to_string().as_bytes());
        read(json!({"input": messages, field: value}).to_string().as_bytes());
    }
}

#[test]
fn what_is_no_json_object_is_refused_as_a_body() {
    for body in [&b""[..], b"null", b"[]", b"{", b"{\"messages\": [{}]} x", b"{\"messages\": [{\"a\": tru}]}"]
    {
        let refused = Request::parse(body).err().unwrap();
        assert!(refused.to_string().starts_with("body: not a JSON object: "), "{refused}");
    }
    let refused = Request::parse(b"{\"model\": \"\xff\"}").err().unwrap();
    assert!(refused.to_string().starts_with("body: not UTF-8: "), "{refused}");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for field in ["content", "tool_calls", "name", "extra"] {
        let body = format!(r#"{{"messages": [{{"role": "assistant", "{field}": {deep}}}]}}"#);
        let request = Request::parse(body.as_bytes()).unwrap();
        let refused = request.message(0, &Forgetful, &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("recursion limit"), "{refused}");
    }
    for field in ["tools", "chat_template_kwargs"] {
        let body = format!(r#"{{"messages": [{{}}], "{field}": {deep}}}"#);
        assert!(Request::parse(body.as_bytes()).unwrap().setup(&mut Vec::new()).is_err());
    }
    for field in ["messages", "stop", "response_format", "stream_options", "logit_bias"] {
        let body = format!(r#"{{"messages": [{{}}], "{field}": {deep}}}"#);
        if let Ok(request) = Request::parse(body.as_bytes()) {
            assert!(request.message(0, &Forgetful, &mut Vec::new()).is_err());
        }
    }
}

/// What is not parsed while it is split does not overflow either.
#[test]
fn deep_nesting_in_items_and_blocks_is_an_error_and_no_overflow() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for kind in ["message", "reasoning", "function_call", "function_call_output"] {
        for field in ["content", "summary", "arguments", "output", "role"] {
            let body = format!(r#"{{"input": [{{"type": "{kind}", "{field}": {deep}}}]}}"#);
            read(body.as_bytes());
            let body = format!(r#"{{"input": [{{"role": "assistant", "content": [{{"type": {deep}}}]}}]}}"#);
            read(body.as_bytes());
        }
    }
    for block in ["text", "thinking", "tool_use", "tool_result"] {
        for field in ["text", "content", "input", "type", "cache_control"] {
            let body = format!(
                r#"{{"messages": [{{"role": "assistant", "content": [{{"type": "{block}", "{field}": {deep}}}]}}]}}"#
            );
            read(body.as_bytes());
            read(body.replace("assistant", "user").as_bytes());
        }
    }
    for field in ["system", "tools", "thinking", "tool_choice", "text", "reasoning", "metadata", "include"] {
        read(
            format!(r#"{{"messages": [{{"role": "user", "content": "q"}}], "{field}": {deep}}}"#).as_bytes(),
        );
        read(format!(r#"{{"input": "q", "{field}": {deep}}}"#).as_bytes());
    }
}

/// Ten times the items take about ten times as long to split.
#[test]
fn splitting_costs_what_the_body_is_long() {
    let text = "word ".repeat(40);
    let items = |count: usize| {
        let item = json!({"type": "function_call_output", "call_id": "c", "output": text}).to_string();
        format!(r#"{{"input": [{}]}}"#, vec![item; count].join(","))
    };
    let blocks = |count: usize| {
        let mark = json!({"type": "ephemeral"});
        let block =
            json!({"type": "tool_result", "tool_use_id": "c", "content": text, "cache_control": mark});
        format!(
            r#"{{"messages": [{{"role": "user", "content": [{}]}}]}}"#,
            vec![block.to_string(); count].join(",")
        )
    };
    let began = Instant::now();
    let body = items(100_000);
    assert_eq!(responses::Request::parse(body.as_bytes(), "m").unwrap().len(), 100_000);
    let body = blocks(100_000);
    assert_eq!(anthropic::Request::parse(body.as_bytes()).unwrap().len(), 100_000);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn many_fields_cost_what_they_are_long() {
    let fields: String = (0..100_000).map(|at| format!("\"f{at}\": 0, ")).collect();
    let body = format!(r#"{{{fields}"messages": [{{}}]}}"#);
    let began = Instant::now();
    assert_eq!(Request::parse(body.as_bytes()).unwrap().lost.len(), 100_000);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
