//! Bodies that no client should send.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Forgetful, Wire};

/// Does everything that can be done with a body.
fn read(body: &[u8]) {
    if let Ok(request) = Request::parse(body) {
        let _ = request.setup(&mut Vec::new());
        for at in 0..request.len() {
            let _ = request.message(at, &Forgetful, &mut Vec::new());
            let _ = request.bytes(at);
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["", "user", "assistant", "tool", "text", "function", "none", "é\u{0}"])
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
        let mut body = body.to_string().into_bytes();
        let at = at.index(body.len());
        if cut { body.truncate(at) } else { body[at] = byte }
        read(&body);
    }

    #[test]
    fn no_values_make_the_parser_panic(
        messages in prop::collection::vec(values(), 0..4),
        field in prop::sample::select(vec!["tools", "stop", "stream_options", "n", "response_format", "tool_choice", "top_k"]),
        value in values(),
    ) {
        read(json!({"messages": messages, field: value}).to_string().as_bytes());
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

#[test]
fn many_fields_cost_what_they_are_long() {
    let fields: String = (0..100_000).map(|at| format!("\"f{at}\": 0, ")).collect();
    let body = format!(r#"{{{fields}"messages": [{{}}]}}"#);
    let began = Instant::now();
    assert_eq!(Request::parse(body.as_bytes()).unwrap().lost.len(), 100_000);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
