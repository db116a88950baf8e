//! Every field of a chat request.

use serde_json::{Value, json};
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Invalid, Sampling, Wire};
use verbatim_events::Cause;

/// A body with one message and one more field.
fn body(field: &str, value: &Value) -> String {
    let mut body = json!({"messages": [{"role": "user", "content": "q"}]});
    body[field] = value.clone();
    body.to_string()
}

fn refused(body: &str) -> Invalid {
    Request::parse(body.as_bytes()).err().unwrap_or_else(|| panic!("{body} was taken"))
}

#[test]
fn every_sampling_field_reaches_the_sampler() {
    let none = Sampling::default;
    let table = [
        ("max_tokens", json!(7), Sampling { max_tokens: Some(7), ..none() }),
        ("max_completion_tokens", json!(7), Sampling { max_tokens: Some(7), ..none() }),
        ("max_tokens", json!(5_000_000_000u64), Sampling { max_tokens: Some(u32::MAX), ..none() }),
        ("temperature", json!(0), Sampling { temperature: Some(0.0), ..none() }),
        ("temperature", json!(1.5), Sampling { temperature: Some(1.5), ..none() }),
        ("top_p", json!(1), Sampling { top_p: Some(1.0), ..none() }),
        ("top_k", json!(40), Sampling { top_k: Some(40), ..none() }),
        ("top_k", json!(-1), none()),
        ("top_k", json!(0), none()),
        ("min_p", json!(0.05), Sampling { min_p: Some(0.05), ..none() }),
        ("presence_penalty", json!(-2), Sampling { presence_penalty: Some(-2.0), ..none() }),
        ("frequency_penalty", json!(2.0), Sampling { frequency_penalty: Some(2.0), ..none() }),
        ("stop", json!("END"), Sampling { stop: vec!["END".into()], ..none() }),
        ("stop", json!(["a", "b"]), Sampling { stop: vec!["a".into(), "b".into()], ..none() }),
        ("stop", json!([]), none()),
        ("seed", json!(42), Sampling { seed: Some(42), ..none() }),
        ("seed", json!(-1), Sampling { seed: Some(u64::MAX), ..none() }),
        ("logprobs", json!(true), Sampling { logprobs: true, ..none() }),
        ("logprobs", json!(false), none()),
        ("top_logprobs", json!(0), none()),
    ];
    for (field, value, expected) in table {
        let body = body(field, &value);
        let request = Request::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{field}: {error}"));
        assert_eq!((request.sampling, request.lost), (expected, vec![]), "{field} {value}");
    }
    let both = r#"{"messages": [{}], "top_logprobs": 20, "logprobs": true}"#;
    assert_eq!(Request::parse(both.as_bytes()).unwrap().sampling.top_logprobs, 20);
}

#[test]
fn the_newer_name_of_the_token_limit_wins_in_either_order() {
    for body in [
        r#"{"max_tokens": 1, "max_completion_tokens": 2, "messages": [{}]}"#,
        r#"{"max_completion_tokens": 2, "max_tokens": 1, "messages": [{}]}"#,
    ] {
        assert_eq!(Request::parse(body.as_bytes()).unwrap().sampling.max_tokens, Some(2));
    }
}

#[test]
fn what_is_not_about_sampling_is_kept_for_the_reply() {
    let body = json!({
        "model": "policy", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "q"}],
    })
    .to_string();
    let request = Request::parse(body.as_bytes()).unwrap();
    assert_eq!(
        (request.model.as_deref(), request.stream, request.include_usage),
        (Some("policy"), true, true)
    );
    for options in [json!({}), json!({"include_usage": false}), json!(null)] {
        let body = self::body("stream_options", &options);
        assert!(!Request::parse(body.as_bytes()).unwrap().include_usage, "{options}");
    }
}

#[test]
fn a_value_that_changes_nothing_is_taken() {
    for (field, values) in [
        ("n", vec![json!(1)]),
        ("modalities", vec![json!(["text"])]),
        ("response_format", vec![json!({"type": "text"})]),
        ("tool_choice", vec![json!("auto"), json!("none")]),
        ("logit_bias", vec![json!({})]),
        ("functions", vec![json!([])]),
        ("function_call", vec![json!("none")]),
        ("prediction", vec![]),
        ("tools", vec![json!([])]),
        ("chat_template_kwargs", vec![json!({})]),
    ] {
        for value in values.into_iter().chain([json!(null)]) {
            let body = body(field, &value);
            let request = Request::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((&request.lost, &request.sampling), (&vec![], &Sampling::default()), "{field}");
        }
    }
}

#[test]
fn null_is_as_if_the_field_were_not_there() {
    for field in [
        "model",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "presence_penalty",
        "frequency_penalty",
        "stop",
        "seed",
        "logprobs",
        "top_logprobs",
        "audio",
        "web_search_options",
        "input_ids",
        "user",
        "anything",
    ] {
        let body = body(field, &Value::Null);
        let request = Request::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&request.lost, &request.sampling), (&vec![], &Sampling::default()), "{field}");
        assert_eq!(request.setup(&mut Vec::new()).unwrap(), verbatim_chat::Setup::default());
    }
}

#[test]
fn what_cannot_be_given_is_refused_with_the_fields_name_and_the_way_out() {
    let table = [
        ("model", json!(3), "3 is not a string"),
        ("messages", json!({}), "{} is not a list of messages"),
        ("messages", json!([]), "must hold at least one message"),
        ("messages", json!(null), "must hold at least one message"),
        ("stream", json!("yes"), r#""yes" is not true or false"#),
        ("stream_options", json!(true), "true is not an object"),
        ("max_tokens", json!(0), "0 is not a whole number above 0"),
        ("max_tokens", json!(-1), "-1 is not a whole number above 0"),
        ("max_completion_tokens", json!(1.5), "1.5 is not a whole number above 0"),
        ("temperature", json!(-0.1), "-0.1 is not a number from 0 to 100"),
        ("temperature", json!("hot"), r#""hot" is not a number from 0 to 100"#),
        ("top_p", json!(1.1), "1.1 is not a number above 0 and up to 1"),
        ("top_p", json!(0), "0 is not a number above 0 and up to 1"),
        ("top_k", json!(1.5), "1.5 is not a whole number"),
        ("min_p", json!(2), "2 is not a number from 0 to 1"),
        ("presence_penalty", json!(3), "3 is not a number from -2 to 2"),
        ("frequency_penalty", json!(-3), "-3 is not a number from -2 to 2"),
        ("stop", json!(["a", ""]), r#"["a",""] is not a string or a list of non-empty strings"#),
        ("stop", json!(""), r#""" is not a string or a list of non-empty strings"#),
        ("stop", json!(3), "3 is not a string or a list of non-empty strings"),
        ("seed", json!("x"), r#""x" is not a whole number"#),
        ("logprobs", json!(5), "5 is not true or false"),
        ("top_logprobs", json!(21), "21 is not a whole number from 0 to 20"),
        ("top_logprobs", json!(300), "300 is not a whole number from 0 to 20"),
        ("top_logprobs", json!(3), "needs logprobs: true"),
        ("n", json!(2), "2 is not supported; send n=1 and open one session a sample"),
        ("modalities", json!(["text", "audio"]), r#"["text","audio"] is not supported; only ["text"] is"#),
        (
            "tool_choice",
            json!("maybe"),
            r#""maybe" is not supported; send "auto", "none", "required" or a function's name"#,
        ),
        ("regex", json!(3), "3 is not a string"),
        ("json_schema", json!(3), "3 is not a JSON schema"),
        ("audio", json!({"voice": "x"}), r#"{"voice":"x"} is not supported; leave it out"#),
        ("web_search_options", json!({"a": 1}), r#"{"a":1} is not supported; leave it out"#),
        ("prediction", json!({"a": 1}), r#"{"a":1} is not supported; leave it out"#),
        ("functions", json!([1]), "[1] is not supported; use tools and tool_choice"),
        ("function_call", json!("auto"), r#""auto" is not supported; use tools and tool_choice"#),
        (
            "logit_bias",
            json!({"5": -100}),
            r#"{"5":-100} is not supported; leave it out: the engine's own distribution is what trains"#,
        ),
        (
            "input_ids",
            json!([1, 2]),
            "[1,2] is not supported; send messages: the server holds the session's ids",
        ),
    ];
    for (field, value, problem) in table {
        assert_eq!(refused(&body(field, &value)), Invalid::new(field, problem));
    }
}

#[test]
fn a_long_value_is_not_repeated_whole_in_its_refusal() {
    let problem = refused(&body("input_ids", &json!(vec![7; 1000]))).problem;
    assert!(problem.len() < 200 && problem.contains('…'), "{problem}");
}

#[test]
fn what_is_taken_and_not_acted_on_is_reported() {
    for (field, value) in [
        ("user", json!("me")),
        ("metadata", json!({"a": "b"})),
        ("store", json!(false)),
        ("reasoning_effort", json!("high")),
        ("service_tier", json!("auto")),
        ("unheard_of", json!([1])),
    ] {
        let body = body(field, &value);
        let lost = Request::parse(body.as_bytes()).unwrap().lost;
        assert_eq!(lost, [Cause::FieldIgnored { field: field.into() }]);
    }
    // Of a model that is left to say whether it calls; where it offers none, or must call, it is kept.
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    for (choice, ignored) in [("auto", 1), ("none", 0), ("required", 0)] {
        let more = json!({"tools": tools, "tool_choice": choice, "parallel_tool_calls": false});
        let body = with(json!({"messages": [{"role": "user", "content": "q"}]}), more);
        assert_eq!(Request::parse(body.as_bytes()).unwrap().lost.len(), ignored, "{choice}");
    }
}

#[test]
fn what_a_reply_must_be_is_read_alike_in_every_dialect() {
    use verbatim_dialects::{Calls, Demand, Demanded, Shape, anthropic, responses};

    let chat = |more: Value| {
        let body = with(json!({"messages": [{"role": "user", "content": "q"}]}), more);
        Request::parse(body.as_bytes()).unwrap().sampling.demand
    };
    let of_responses = |more: Value| {
        let body = with(json!({"input": "q"}), more);
        responses::Request::parse(body.as_bytes(), "m").unwrap().sampling.demand
    };
    let messages = |more: Value| {
        let body = with(json!({"messages": [{"role": "user", "content": "q"}], "max_tokens": 9}), more);
        anthropic::Request::parse(body.as_bytes()).unwrap().sampling.demand
    };
    let schema = json!({"type": "object", "required": ["b", "a"]});
    let shaped = |field: &str| Demand {
        shape: Some(Demanded { field: field.into(), shape: Shape::Json(schema.to_string()) }),
        ..Demand::default()
    };
    let named =
        json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}});
    let flat = json!({"type": "json_schema", "name": "x", "schema": schema});
    assert_eq!(chat(json!({"response_format": named})), shaped("response_format"));
    assert_eq!(of_responses(json!({"text": {"format": flat}})), shaped("text.format"));
    assert_eq!(messages(json!({"output_config": {"format": flat}})), shaped("output_config.format"));
    assert_eq!(messages(json!({"output_format": flat})), shaped("output_format"));

    let calls = |demand: Demand| (demand.calls, demand.single);
    let required = |field| Calls::Required { field };
    let f = |field| Calls::Named { field, name: "f".into() };
    let single = json!({"tool_choice": "required", "parallel_tool_calls": false});
    assert_eq!(calls(chat(single.clone())), (required("tool_choice"), true));
    assert_eq!(calls(of_responses(single)), (required("tool_choice"), true));
    let any = json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}});
    assert_eq!(calls(messages(any)), (required("tool_choice.type"), true));
    let of_chat = json!({"tool_choice": {"type": "function", "function": {"name": "f"}}});
    assert_eq!(calls(chat(of_chat)), (f("tool_choice"), false));
    let flat = json!({"tool_choice": {"type": "function", "name": "f"}});
    assert_eq!(calls(of_responses(flat)), (f("tool_choice"), false));
    let tool = json!({"tool_choice": {"type": "tool", "name": "f"}});
    assert_eq!(calls(messages(tool)), (f("tool_choice.name"), false));
    let free = json!({"tool_choice": "none"});
    assert_eq!(calls(chat(free)), (Calls::Free, false));
}

fn with(body: Value, more: Value) -> String {
    let Value::Object(mut body) = body else { panic!("an object") };
    let Value::Object(more) = more else { panic!("an object") };
    body.extend(more);
    Value::Object(body).to_string()
}
