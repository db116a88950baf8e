//! What each matcher takes for the same message again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use verbatim_chat::{
    Arguments, Chain, Content, Image, Key, LooseReplay, LooseToolCall, Matcher, Message, Part, Role,
    RoleContentOnly, Setup, Strict, Tool, ToolCall, Verdict,
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

/// What each matcher says: `strict`, `loose_tool_call`, `role_content_only`, `loose_replay`.
#[test]
fn each_matcher_accepts_its_own_respellings() {
    use Verdict::{Different as D, Equivalent as Q, Exact as E};
    let text = |s: &str| Content::Text(s.into());
    let parts = Content::Parts(vec![Part::Text("a".into()), Part::Text("b".into())]);
    let said = |c: &Content| assistant(c.clone(), None, vec![]);
    let with = |a: &str| assistant(Content::Absent, None, vec![call(a)]);
    let json = |a: serde_json::Value| {
        let call = ToolCall { arguments: Arguments::Json(a), ..call("") };
        assistant(Content::Absent, None, vec![call])
    };
    let thought = |r: Option<&str>| assistant(text("x"), r, vec![]);
    let named = |id: Option<&str>, name: &str| {
        let call = ToolCall { id: id.map(str::to_owned), name: name.into(), ..call("{}") };
        assistant(Content::Absent, None, vec![call])
    };
    let result = |id: &str| Message { tool_call_id: Some(id.into()), ..Message::new(Role::Tool, "4") };
    let table = [
        ("itself", said(&text("ab")), said(&text("ab")), [E, E, E, E]),
        ("null for empty", said(&Content::Absent), said(&text("")), [E, E, E, E]),
        ("no parts for empty", said(&text("")), said(&Content::Parts(vec![])), [E, E, E, E]),
        ("parts for text", said(&text("ab")), said(&parts), [D, D, D, Q]),
        ("other text", said(&text("ab")), said(&text("ab ")), [D, D, D, D]),
        ("other case", said(&text("ab")), said(&text("Ab")), [D, D, D, D]),
        ("composed for decomposed", said(&text("e\u{301}")), said(&text("\u{e9}")), [D, D, D, D]),
        ("other role", Message::new(Role::User, "x"), Message::new(Role::System, "x"), [D, D, D, D]),
        (
            "arguments re-spelt",
            with(r#"{ "a" :1,"b":"\u00e9"}"#),
            with(r#"{"b": "é", "a": 1.0}"#),
            [D, Q, Q, Q],
        ),
        ("arguments changed", with(r#"{"a":1}"#), with(r#"{"a":true}"#), [D, D, Q, D]),
        ("arguments reordered in a list", with(r#"{"a":[1,2]}"#), with(r#"{"a":[2,1]}"#), [D, D, Q, D]),
        ("arguments beyond floats", with(r#"{"a":1e999}"#), with(r#"{"a":10e998}"#), [D, Q, Q, Q]),
        ("close numbers", with(r#"{"a":9007199254740993}"#), with(r#"{"a":9007199254740992}"#), [D, D, Q, D]),
        ("empty arguments", with(""), with("{ }"), [D, Q, Q, D]),
        ("white space is no object", with("  "), with("{}"), [D, D, Q, D]),
        ("a key twice", with(r#"{"a":1,"a":1}"#), with(r#"{"a":1}"#), [D, D, Q, Q]),
        ("no object", with("[1]"), with("[ 1 ]"), [D, D, Q, Q]),
        ("parsed arguments", with(r#"{"a": 1}"#), json(json!({"a": 1})), [D, Q, Q, Q]),
        ("malformed arguments kept", with("{oops"), with("{oops"), [E, E, E, E]),
        ("malformed arguments mended", with("{oops"), with("{}"), [D, D, Q, D]),
        ("a call dropped", with("{}"), said(&Content::Absent), [D, D, Q, D]),
        ("another id", named(Some("a"), "f"), named(Some("b"), "f"), [D, D, Q, D]),
        ("no id", named(Some("a"), "f"), named(None, "f"), [D, D, Q, Q]),
        ("another name", named(Some("a"), "f"), named(Some("a"), "g"), [D, D, Q, D]),
        ("reasoning dropped", thought(Some("hm")), thought(None), [D, D, Q, Q]),
        ("reasoning emptied", thought(Some("hm")), thought(Some("")), [D, D, Q, Q]),
        ("reasoning changed", thought(Some("hm")), thought(Some("ha")), [D, D, Q, D]),
        ("reasoning invented", thought(None), thought(Some("ha")), [D, D, Q, D]),
        ("empty reasoning for none", thought(None), thought(Some("")), [E, E, E, E]),
        ("a result of another call", result("a"), result("b"), [E, E, E, E]),
    ];
    let matchers: [&dyn Matcher; 4] = [&Strict, &LooseToolCall, &RoleContentOnly, &LooseReplay];
    for (what, stored, sent, verdicts) in table {
        for (matcher, verdict) in matchers.into_iter().zip(verdicts) {
            assert_eq!(matcher.judge(&stored, &sent), verdict, "{}: {what}", matcher.name());
            if verdict > D {
                assert_eq!(matcher.key(&stored), matcher.key(&sent), "{}: {what}", matcher.name());
            }
        }
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

/// A GIF of 3 by 2 pixels in this colour.
fn image(red: u8) -> Part {
    let mut gif = b"GIF87a\x03\0\x02\0\x81\0\0".to_vec();
    gif.extend([red, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    gif.extend(b"\x2c\0\0\0\0\x03\0\x02\0\0\x08\x06\0\x01\x08\x1c\x18\x10\0\x3b");
    Part::Image(Arc::new(Image::read(gif).unwrap()))
}

/// What each matcher says: `strict`, `loose_tool_call`, `role_content_only`, `loose_replay`.
#[test]
fn the_same_images_at_the_same_places_are_the_same_message() {
    use Verdict::{Different as D, Equivalent as Q, Exact as E};
    let text = |text: &str| Part::Text(text.into());
    let said = |parts: &[Part]| Message::new(Role::User, Content::Parts(parts.to_vec()));
    let plain = Message::new(Role::User, "ab");
    let table = [
        (said(&[text("a"), image(1)]), said(&[text("a"), image(1)]), [E, E, E, E]),
        (said(&[text("ab"), image(1)]), said(&[text("a"), text("b"), image(1)]), [D, D, D, Q]),
        (said(&[text("a"), image(1)]), said(&[text("a"), image(2)]), [D, D, D, D]),
        (said(&[text("a"), image(1), text("b")]), said(&[text("ab"), image(1)]), [D, D, D, D]),
        (said(&[image(1), image(2)]), said(&[image(2), image(1)]), [D, D, D, D]),
        (said(&[text("ab"), image(1)]), plain, [D, D, D, D]),
    ];
    let matchers: [&dyn Matcher; 4] = [&Strict, &LooseToolCall, &RoleContentOnly, &LooseReplay];
    for (stored, sent, verdicts) in table {
        assert_eq!(matchers.map(|matcher| matcher.judge(&stored, &sent)), verdicts, "{stored:?} {sent:?}");
        for (matcher, verdict) in matchers.iter().zip(verdicts) {
            let same = matcher.key(&stored) == matcher.key(&sent);
            assert!(same || verdict == D, "{}", matcher.name());
        }
    }
}

#[test]
fn an_image_is_kept_as_bytes_and_told_as_text() {
    let message = Message::new(Role::User, Content::Parts(vec![Part::Text("a".into()), image(7)]));
    let told = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&told).unwrap(), message);
    assert!(message.bytes() > Message::new(Role::User, "a").bytes() + 50, "what an image holds counts");
    let broken = told.replace("R0lGODdh", "AAAAAAAA");
    assert!(serde_json::from_str::<Message>(&broken).is_err());
}

/// Hashes of messages without images are what they were before there were images.
#[test]
fn keys_of_text_are_what_they_always_were() {
    let parts = Content::Parts(vec![Part::Text("a".into()), Part::Text("b".into())]);
    for (content, field) in [(Content::Text("ab".into()), "ab"), (parts, "parts\0ab")] {
        let message = Message::new(Role::User, content);
        assert_eq!(Strict.key(&message), Key::of([&b"user"[..], field.as_bytes(), b""]));
        assert_eq!(RoleContentOnly.key(&message), Key::of([&b"user"[..], field.as_bytes()]));
        assert_eq!(LooseReplay.key(&message), Key::of([&b"user"[..], b"ab"]));
    }
}

fn any_content() -> impl Strategy<Value = Content> {
    prop_oneof![
        Just(Content::Absent),
        "[ab]{0,2}".prop_map(Content::Text),
        prop::collection::vec(any_part(), 0..3).prop_map(Content::Parts),
    ]
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![4 => "[ab]{0,1}".prop_map(Part::Text), 1 => (0u8..2).prop_map(image)]
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
        for matcher in [&Strict as &dyn Matcher, &LooseToolCall, &RoleContentOnly, &LooseReplay] {
            if matcher.judge(&stored, &sent) > Verdict::Different {
                prop_assert_eq!(matcher.key(&stored), matcher.key(&sent), "{}", matcher.name());
            }
        }
    }

    /// Whatever strict accepts the others accept as exactly, and role_content_only accepts what
    /// loose_tool_call does.
    #[test]
    fn matchers_contain_one_another(stored in any_message(), sent in any_message()) {
        if Strict.judge(&stored, &sent) == Verdict::Exact {
            for matcher in [&LooseReplay as &dyn Matcher, &LooseToolCall, &RoleContentOnly] {
                prop_assert_eq!(matcher.judge(&stored, &sent), Verdict::Exact, "{}", matcher.name());
            }
        }
        if LooseToolCall.judge(&stored, &sent) > Verdict::Different {
            prop_assert!(RoleContentOnly.judge(&stored, &sent) > Verdict::Different);
        }
    }
}
