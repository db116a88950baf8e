//! Recognising a request by its bytes.

use proptest::prelude::*;
use verbatim_dialects::chat::Request;
use verbatim_dialects::{Forgetful, Wire};

const TOOLS: &str = r#"[{"type":"function","function":{"name":"f"}}]"#;

fn body(messages: &[String], before: &str) -> String {
    format!(r#"{{{before}"messages":[{}]}}"#, messages.join(" , "))
}

fn said(text: &str) -> String {
    format!(r#"{{"role":"user","content":{}}}"#, serde_json::Value::from(text))
}

proptest! {
    /// Requests that begin alike have equal keys as far as they do, and no further.
    #[test]
    fn a_changed_message_changes_the_keys_after_it_and_no_others(
        texts in prop::collection::vec(any::<String>(), 1..8),
        at in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<String>(), 0..3),
    ) {
        let messages: Vec<_> = texts.iter().map(|text| said(text)).collect();
        let at = at.index(messages.len());
        let mut changed = messages.clone();
        changed[at].insert(1, ' ');
        changed.extend(more.iter().map(|text| said(text)));
        let (one, two) = (body(&messages, ""), body(&changed, r#""temperature": 0.5, "#));
        let (one, two) = (Request::parse(one.as_bytes()).unwrap(), Request::parse(two.as_bytes()).unwrap());
        for count in 0..=messages.len() {
            prop_assert_eq!(one.bytes(count) == two.bytes(count), count <= at, "after {} messages", count);
        }
        prop_assert_eq!(two.len(), messages.len() + more.len());
        prop_assert_eq!(two.bytes(two.len() + 5), two.bytes(two.len()));
    }
}

#[test]
fn what_a_prompt_is_rendered_with_is_part_of_every_key() {
    let roots = [
        String::new(),
        format!(r#""tools":{TOOLS},"#),
        format!(r#""tools":{TOOLS},"tool_choice":"none","#),
        format!(r#""chat_template_kwargs":{TOOLS},"#),
        r#""chat_template_kwargs":{"enable_thinking":false},"#.to_owned(),
    ];
    let messages = [said("q")];
    let bodies: Vec<_> = roots.iter().map(|root| body(&messages, root)).collect();
    let requests: Vec<_> = bodies.iter().map(|body| Request::parse(body.as_bytes()).unwrap()).collect();
    for (at, one) in requests.iter().enumerate() {
        for two in &requests[at + 1..] {
            assert_ne!(one.bytes(0), two.bytes(0));
            assert_ne!(one.bytes(1), two.bytes(1));
        }
    }
}

#[test]
fn what_is_said_of_sampling_is_in_no_key() {
    let (plain, other) =
        (body(&[said("q")], ""), body(&[said("q")], r#""seed":1,"stream":true,"model":"m","#));
    let (plain, other) =
        (Request::parse(plain.as_bytes()).unwrap(), Request::parse(other.as_bytes()).unwrap());
    assert_eq!(plain.bytes(1), other.bytes(1));
}

#[test]
fn of_a_field_that_is_there_twice_the_last_counts() {
    let twice = format!(
        r#"{{"messages": [{}], "temperature": 9999, "n": 5, "messages": [{}, {}], "temperature": 1, "n": 1}}"#,
        said("a"),
        said("b"),
        said("c"),
    );
    let request = Request::parse(twice.as_bytes()).unwrap();
    assert_eq!((request.len(), request.sampling.temperature), (2, Some(1.0)));
    let once = body(&[said("b"), said("c")], "");
    assert_eq!(request.bytes(2), Request::parse(once.as_bytes()).unwrap().bytes(2));
    let message = r#"{"messages": [{"role": "tool", "content": "a", "role": "user", "content": "b"}]}"#;
    let message =
        Request::parse(message.as_bytes()).unwrap().message(0, &Forgetful, &mut Vec::new()).unwrap();
    assert_eq!(message, verbatim_chat::Message::new(verbatim_chat::Role::User, "b"));
}
