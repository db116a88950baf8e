//! What an engine needs to hold a reply to a form: what is laid out is what the family writes and reads.

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Scene, Thought};
use verbatim_tokenizer::SpecialSplitter;

use crate::assets::{Model, family};

const ALL: [&str; 20] = [
    "qwen25",
    "qwen3",
    "qwen35",
    "qwen36",
    "qwennext",
    "smollm2",
    "glm47",
    "nemotron3",
    "kimi25",
    "kimi26",
    "minimax_m25",
    "minimax_m27",
    "deepseekv32",
    "deepseekv4",
    "inkling",
    "gptoss",
    "gemma3",
    "llama3",
    "mistral",
    "default",
];

/// Families whose calls a reply can be held to.
const CALLS: [&str; 5] = ["qwen25", "qwen3", "qwennext", "smollm2", "llama3"];
/// Families whose replies can be held to no form at all: channels frame them, or think marks that are control tokens.
const UNSAID: [&str; 3] = ["inkling", "gptoss", "mistral"];

/// Without tools, what looks like a call is content.
fn setup(thinks: bool) -> Setup {
    let template = if thinks { json!({}) } else { json!({"enable_thinking": false}) };
    let tool = |name| Tool(json!({"type": "function", "function": {"name": name, "parameters": {}}}));
    Setup { tools: ["f", "g", "look_up"].map(tool).into(), template: template.as_object().unwrap().clone() }
}

fn calls(model: &Model, thinks: bool, calls: &[(&str, &str)]) {
    let setup = setup(thinks);
    let scene = Scene { setup: &setup, opened: 0 };
    let start = model.family.open(scene, &[Message::new(Role::User, "q")]).unwrap().start;
    let outline = model.family.outline(scene, start);
    let layout = outline.calls.unwrap();
    let each: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| {
            let (begin, end) = layout.around(name).unwrap();
            format!("{begin}{arguments}{end}")
        })
        .collect();
    let mut text = match outline.thought {
        Thought::Nothing => String::new(),
        Thought::Opened { close, after } => format!("hm\n{close}{after}"),
        Thought::May { open, close, after } => format!("{open}hm\n{close}{after}"),
        Thought::Unsaid => panic!("{}", model.name),
    };
    text.push_str(&each.join(layout.between.as_deref().unwrap_or_default()));
    let splitter = SpecialSplitter::new(model.tokenizer.as_ref(), |added| !added.control);
    let mut ids = splitter.encode(model.tokenizer.as_ref(), &text);
    ids.push(model.family.stop_ids()[0]);

    let mut parser = model.family.parser(scene, start, "call_");
    parser.push(&ids, &mut Vec::new());
    let parsed = parser.finish(&mut Vec::new());
    assert_eq!(parsed.flaws, [], "{}: {text}", model.name);
    assert_eq!(parsed.message.content.text(), "", "{}: {text}", model.name);
    let read: Vec<(&str, Value)> = parsed
        .message
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments.text()).unwrap()))
        .collect();
    let asked: Vec<(&str, Value)> =
        calls.iter().map(|(name, text)| (*name, serde_json::from_str(text).unwrap())).collect();
    assert_eq!(read, asked, "{}: {text}", model.name);
    // The family writes it so, too.
    let message = Message {
        tool_calls: calls
            .iter()
            .map(|(name, text)| ToolCall {
                id: None,
                name: (*name).to_owned(),
                arguments: Arguments::Text((*text).to_owned()),
            })
            .collect(),
        ..parsed.message
    };
    let written = model.family.reply(scene, start, &message).unwrap();
    assert_eq!(model.spell(&written), model.spell(&ids), "{}", model.name);
}

#[test]
fn calls_that_are_laid_out_are_written_and_read_so() {
    for name in CALLS {
        let model = family(name);
        // One of them cannot be kept from thinking.
        for thinks in [true, false].into_iter().filter(|thinks| *thinks || name != "qwennext") {
            calls(model, thinks, &[("f", r#"{"a": 1}"#)]);
            calls(model, thinks, &[("look_up", r#"{"q": "</tool_call> x", "n": [null, true]}"#)]);
            if name != "llama3" {
                calls(model, thinks, &[("f", "{}"), ("g", r#"{"b": "c"}"#)]);
            }
        }
    }
}

#[test]
fn what_cannot_be_laid_out_exactly_is_not() {
    for name in ALL.into_iter().filter(|name| *name != "default") {
        let setup = setup(true);
        let outline = family(name).family.outline(Scene { setup: &setup, opened: 0 }, StartState::Content);
        assert_eq!(outline.calls.is_some(), CALLS.contains(&name), "{name}");
        assert_eq!(outline.thought == Thought::Unsaid, UNSAID.contains(&name), "{name}");
    }
    let setup = Setup::default();
    let outline = family("qwen3").family.outline(Scene { setup: &setup, opened: 0 }, StartState::Content);
    let layout = outline.calls.unwrap();
    assert!(layout.around("a\"b").is_none() && layout.around("").is_none(), "such a name is no plain text");
}
