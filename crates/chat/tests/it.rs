//! What each matcher takes for the same message again.

use proptest::prelude::*;
use serde_json::json;
use verbatim_chat::{
    Arguments, Chain, Content, Key, LooseReplay, Matcher, Message, Part, Role, Setup, Strict, Tool, ToolCall,
    Verdict,
};

fn call(arguments: &str) -> ToolCall {
    ToolCall { id: Some("call_1".into()), name: "f".into(), arguments: Arguments::Text(arguments.into()) }
}

fn assistant(content: Content, reasoning: Option<&str>, calls: Vec<ToolCall>) -> Message {
    Message {
        content,
        reasoning: reasoning.map(str::to_owned),
        tool_calls: calls,
        ..Message::new(Role::Assistant, "")
    }
}

#[test]
fn each_matcher_accepts_its_own_respellings() {
    use Verdict::{Different as D, Equivalent as Q, Exact as E};
    let text = |s: &str| Content::Text(s.into());
    let parts = Content::Parts(vec![Part::Text("a".into()), Part::Text("b".into())]);
    let said = |c: &Content| assistant(c.clone(), None, vec![]);
    let with = |a: &str| assistant(Content::Absent, None, vec![call(a)]);
    let thought = |r: Option<&str>| assistant(text("x"), r, vec![]);
    let table = [
        ("itself", said(&text("ab")), said(&text("ab")), E, E),
        ("null for empty", said(&Content::Absent), said(&text("")), E, E),
        ("parts for text", said(&text("ab")), said(&parts), D, Q),
        ("other text", said(&text("ab")), said(&text("ab ")), D, D),
        ("arguments re-spelt", with(r#"{ "a" :1,"b":"\u00e9"}"#), with(r#"{"b": "é", "a": 1.0}"#), D, Q),
        ("arguments changed", with(r#"{"a":1}"#), with(r#"{"a":true}"#), D, D),
        ("malformed arguments kept", with("{oops"), with("{oops"), E, E),
        ("malformed arguments mended", with("{oops"), with("{}"), D, D),
        ("reasoning dropped", thought(Some("hm")), thought(None), D, Q),
        ("reasoning emptied", thought(Some("hm")), thought(Some("")), D, Q),
        ("reasoning changed", thought(Some("hm")), thought(Some("ha")), D, D),
        ("reasoning invented", thought(None), thought(Some("ha")), D, D),
    ];
    for (what, stored, sent, strict, loose) in table {
        assert_eq!(Strict.judge(&stored, &sent), strict, "strict: {what}");
        assert_eq!(LooseReplay.judge(&stored, &sent), loose, "loose_replay: {what}");
    }
}

#[test]
fn the_root_knows_tools_from_template_arguments() {
    let mut with_tool = Setup { tools: vec![Tool(json!("a"))], ..Setup::default() };
    let mut with_argument = Setup::default();
    with_argument.template.insert("a".into(), json!(1));
    assert_ne!(Chain::root(&with_tool), Chain::root(&with_argument));
    with_tool.tools.push(Tool(json!({"x": 1, "y": 2})));
    let before = Chain::root(&with_tool);
    with_tool.tools[1] = Tool(json!({"y": 2, "x": 1}));
    assert_ne!(before, Chain::root(&with_tool), "key order decides the rendered text");
}

#[test]
fn borders_of_fields_count() {
    assert_ne!(Key::of([&b"ab"[..], b"c"]), Key::of([&b"a"[..], b"bc"]));
}

fn any_content() -> impl Strategy<Value = Content> {
    prop_oneof![
        Just(Content::Absent),
        "[ab]{0,2}".prop_map(Content::Text),
        prop::collection::vec("[ab]{0,1}".prop_map(Part::Text), 0..3).prop_map(Content::Parts),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let arguments = prop_oneof![Just("{}"), Just("{ }"), Just(r#"{"a":1}"#), Just("x")];
    let calls = prop::collection::vec(arguments.prop_map(call), 0..3);
    (any_content(), prop::option::of("[ab]{0,1}"), calls)
        .prop_map(|(content, reasoning, calls)| assistant(content, reasoning.as_deref(), calls))
}

proptest! {
    /// A candidate that a matcher would accept is always found: same verdict, same key.
    #[test]
    fn accepted_messages_share_a_key(stored in any_message(), sent in any_message()) {
        for matcher in [&Strict as &dyn Matcher, &LooseReplay] {
            if matcher.judge(&stored, &sent) > Verdict::Different {
                prop_assert_eq!(matcher.key(&stored), matcher.key(&sent), "{}", matcher.name());
            }
        }
    }

    /// Whatever strict accepts, loose_replay accepts as exactly.
    #[test]
    fn loose_replay_contains_strict(stored in any_message(), sent in any_message()) {
        if Strict.judge(&stored, &sent) == Verdict::Exact {
            prop_assert_eq!(LooseReplay.judge(&stored, &sent), Verdict::Exact);
        }
    }
}
