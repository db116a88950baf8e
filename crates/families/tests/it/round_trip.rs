//! Saying a message and reading it again.

use proptest::prelude::*;
use serde_json::json;
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::RenderError;

use crate::assets::{Model, QWEN3, QWEN25, SMOLLM2, models};
use crate::goldens::scene;

fn setup(enable_thinking: Option<bool>) -> Setup {
    let template = enable_thinking.map(|value| ("enable_thinking".to_owned(), json!(value)));
    Setup { tools: vec![Tool(json!({"name": "f"}))], template: template.into_iter().collect() }
}

fn read_again(model: &Model, setup: &Setup, start: StartState, message: &Message) -> Message {
    let ids = model.family.reply(scene(setup), start, message).unwrap();
    assert_eq!(ids.last(), Some(&model.family.stop_ids()[0]));
    let mut parser = model.family.parser(scene(setup), start, "call_");
    let mut out = Vec::new();
    parser.push(&ids, &mut out);
    let parsed = parser.finish(&mut out);
    assert_eq!(parsed.flaws, []);
    parsed.message
}

fn said(content: &str, calls: &[&str]) -> Message {
    let mut message = Message::new(Role::Assistant, content);
    message.tool_calls = calls
        .iter()
        .enumerate()
        .map(|(at, arguments)| ToolCall {
            id: Some(format!("call_{at}")),
            name: "f".into(),
            arguments: Arguments::Text((*arguments).to_owned()),
        })
        .collect();
    if content.is_empty() && !calls.is_empty() {
        message.content = Content::Absent;
    }
    message
}

/// Argument text that is spelled as Python spells it, so that rendering leaves it alone.
fn arguments() -> impl Strategy<Value = String> {
    "[a-z<>/😀 ]{0,6}".prop_map(|text| format!("{{\"a\": [1, 2.5, \"{text}\"]}}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_message_that_is_said_is_read_again(
        content in "([a-c<>\n 日]{0,8}[a-c]|)", calls in prop::collection::vec(arguments(), 0..3), which in 0usize..3,
    ) {
        let model = models()[which];
        let content = if model.name == "qwen3" { content.trim_start_matches('\n') } else { &content };
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        let message = said(content, &calls);
        prop_assert_eq!(&read_again(model, &setup(None), StartState::Content, &message), &message);
    }

    #[test]
    fn reasoning_that_is_said_is_read_again(reasoning in "[a-c][a-c\n ]{0,8}[a-c]", content in "([a-c][a-c\n]{0,5}|)") {
        let mut message = said(&content, &[]);
        message.reasoning = Some(reasoning);
        prop_assert_eq!(&read_again(&QWEN3, &setup(None), StartState::Content, &message), &message);
        prop_assert_eq!(&read_again(&QWEN3, &setup(Some(true)), StartState::Reasoning, &message), &message);
    }
}

/// The prompt, what is said to it and what follows are the render of the whole.
#[test]
fn what_is_said_is_what_history_renders() {
    for model in models() {
        for thinking in [None, Some(false)] {
            let setup = setup(thinking);
            for message in [
                said("Hello", &[]),
                said("", &["{}"]),
                said("a\n", &["{\"x\": 1}", "{}"]),
                said("\n", &["{}"]),
                said("", &[]),
            ] {
                let message_text = message.content.text().into_owned();
                let user = Message::new(Role::User, "hi");
                let prompt = model.family.open(scene(&setup), std::slice::from_ref(&user)).unwrap();
                let said = model.family.reply(scene(&setup), prompt.start, &message).unwrap();
                let whole = model.family.open(scene(&setup), &[user, message]).unwrap();
                let start: Vec<_> = prompt.ids.iter().chain(&said).copied().collect();
                // A newline that is said first is one token with the opener's in a rendered history.
                let same = if message_text == "\n" {
                    model.spell(&whole.ids).starts_with(&model.spell(&start))
                } else {
                    whole.ids.starts_with(&start)
                };
                assert!(same, "{} {:?}\n{:?}", model.name, model.spell(&start), model.spell(&whole.ids));
            }
        }
    }
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    let mut message = Message::new(Role::Assistant, "a");
    message.reasoning = Some("r".into());
    for model in [&QWEN25, &SMOLLM2] {
        let error = model.family.reply(scene(&setup(None)), StartState::Content, &message).unwrap_err();
        assert!(matches!(error, RenderError::Unsupported { .. }), "{error}");
    }
    let error = QWEN3.family.reply(scene(&setup(Some(false))), StartState::Content, &message).unwrap_err();
    assert!(error.to_string().contains("enable_thinking"), "{error}");
    let error =
        QWEN3.family.reply(scene(&setup(None)), StartState::Content, &said("", &["[1]"])).unwrap_err();
    assert_eq!(error, RenderError::Arguments { message: 0, call: 0 });
}
