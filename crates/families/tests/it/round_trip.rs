//! Saying a message and reading it again.

use serde_json::json;
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::RenderError;

use crate::assets::{QWEN3, QWEN25, SMOLLM2, models};
use crate::goldens::scene;

fn setup(enable_thinking: Option<bool>) -> Setup {
    let template = enable_thinking.map(|value| ("enable_thinking".to_owned(), json!(value)));
    Setup { tools: vec![Tool(json!({"name": "f"}))], template: template.into_iter().collect() }
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
