//! Output files, and what functions and services return.

use serde_json::{Map, Value, json};
use verbatim_agents::{Output, Reward, TurnRewards};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn rewards_are_numbers_or_objects() {
    assert_eq!(Output::parse(" \n"), Ok(Output::default()));
    let plain = Output::parse(r#"{"reward": 1, "metadata": {"a": 2}}"#).unwrap();
    assert_eq!((plain.reward, plain.metadata), (Some(Reward::Number(1.0)), object(json!({"a": 2}))));
    let detailed =
        Output::parse("{\n  \"reward\": {\"reward\": 0.5, \"format\": 1},\n  \"extra\": 1\n}").unwrap();
    assert_eq!(detailed.reward, Some(Reward::Fields(object(json!({"reward": 0.5, "format": 1})))));
    assert_eq!((detailed.unknown, detailed.records), (vec!["extra".to_owned()], None));
}

#[test]
fn turn_rewards_are_in_order_or_by_reply() {
    let parse = |text| Output::parse(text).unwrap().turn_rewards.unwrap();
    assert_eq!(parse(r#"{"turn_rewards": [1, null]}"#), TurnRewards::InOrder(vec![Some(1.0), None]));
    let by_reply = TurnRewards::ByReply([("resp_1".to_owned(), 0.5)].into());
    assert_eq!(parse(r#"{"turn_rewards": {"resp_1": 0.5}}"#), by_reply);
}

#[test]
fn records_are_one_object_or_lines_each_with_messages() {
    let one =
        Output::parse(r#"{"name": "main", "messages": [{"role": "user", "content": "q"}], "reward": 1}"#);
    let one = one.unwrap();
    let records = one.records.unwrap();
    assert_eq!((records.len(), records[0].name.as_str(), one.reward), (1, "main", None));
    assert_eq!(records[0].reward, Some(Reward::Number(1.0)), "a record's reward is its own");
    let text = "{\"name\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": \"x\u{2028}y\"}], \"tools\": []}\n\n\
                {\"name\": \"b\", \"messages\": [{}], \"chat_template_kwargs\": {\"k\": 1}, \"metadata\": {\"m\": 1}, \"odd\": 0}\n";
    let two = Output::parse(text).unwrap();
    let records = two.records.unwrap();
    let body: Value = serde_json::from_slice(&records[1].conversation).unwrap();
    assert_eq!(body, json!({"messages": [{}], "chat_template_kwargs": {"k": 1}}));
    assert_eq!((&records[1].metadata, two.unknown), (&object(json!({"m": 1})), vec!["odd".to_owned()]));
}

#[test]
fn what_cannot_be_read_is_said_with_its_record_and_field() {
    let m = r#""messages": [{}]"#;
    for (text, names) in [
        ("[1]".to_owned(), vec!["list at the top level"]),
        (format!("[{{\"name\": \"a\", {m}}}]"), vec!["list at the top level"]),
        ("{".to_owned(), vec!["JSON object"]),
        ("7".to_owned(), vec!["JSON object"]),
        (r#"{"reward": "1"}"#.to_owned(), vec!["reward"]),
        (r#"{"metadata": 1}"#.to_owned(), vec!["metadata"]),
        (r#"{"turn_rewards": ["1"]}"#.to_owned(), vec!["turn_rewards[0]"]),
        (format!("{{{m}}}"), vec!["line 1", "name"]),
        (format!("{{\"name\": \"\", {m}}}"), vec!["line 1", "name"]),
        (
            format!("{{\"name\": \"a\", {m}}}\n{{\"name\": \"a\", {m}}}"),
            vec!["line 2", "\"a\" is there already"],
        ),
        (format!("{{\"name\": \"a\", {m}}}\n{{\"name\": \"b\"}}"), vec!["line 2", "messages", "\"b\""]),
        (format!("{{\"name\": \"a\", {m}}}\n{{\"reward\": 1"), vec!["line 2", "JSON object"]),
        (format!("{{\"name\": \"a\", {m}}}\n[1]"), vec!["line 2", "JSON object"]),
        (format!("{{\"name\": \"a\", {m}, \"metadata\": 1}}"), vec!["line 1", "metadata"]),
        (format!("{{\"name\": \"a\", {m}, \"tools\": 1}}"), vec!["line 1", "tools"]),
        (format!("{{\"name\": \"a\", {m}, \"reward\": true}}"), vec!["line 1", "reward"]),
        ("{\"name\": \"a\", \"messages\": []}".to_owned(), vec!["line 1", "messages"]),
    ] {
        let refused = Output::parse(&text).unwrap_err().problem;
        assert!(names.iter().all(|name| refused.contains(name)), "{text}: {refused}");
    }
}

#[test]
fn what_a_function_returns_is_metadata_but_for_its_own_keys() {
    let returned = Output::returned(object(json!({
        "reward": 0.5, "solved": true, "metadata": {"steps": 3}, "records": [{"name": "main", "messages": [{}]}],
    })));
    let returned = returned.unwrap();
    assert_eq!(returned.metadata, object(json!({"solved": true, "steps": 3})));
    assert_eq!((returned.records.unwrap().len(), returned.unknown.len()), (1, 0));
    for (value, names) in [(json!([]), "empty"), (json!([1]), "records[0]"), (json!(1), "records: 1")] {
        let refused = Output::returned(object(json!({ "records": value }))).unwrap_err().problem;
        assert!(refused.contains(names), "{refused}");
    }
}
