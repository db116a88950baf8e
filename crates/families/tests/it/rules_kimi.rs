//! Each rule in which Kimi K2.5 and K2.6 differ from their official templates.

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};

use crate::assets::{Model, family};
use crate::goldens::{self, scene};

const BOTH: [&str; 2] = ["kimi25", "kimi26"];

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

fn said(text: &str, reasoning: Option<&str>) -> Message {
    Message { reasoning: reasoning.map(str::to_owned), ..Message::new(Role::Assistant, text) }
}

fn called(id: Option<&str>, arguments: &str) -> Message {
    let arguments = Arguments::Text(arguments.to_owned());
    let call = ToolCall { id: id.map(str::to_owned), name: "f".into(), arguments };
    Message { content: Content::Absent, tool_calls: vec![call], ..said("", None) }
}

fn setup(pairs: &[(&str, Value)]) -> Setup {
    let template = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Setup { template, ..Setup::default() }
}

fn shown(model: &Model, setup: &Setup, messages: &[Message]) -> String {
    model.spell(&model.family.open(scene(setup), messages).unwrap().ids)
}

fn declared(tool: Value) -> String {
    let setup = Setup { tools: vec![Tool(tool)], ..Setup::default() };
    let text = shown(family("kimi26"), &setup, &[user("U")]);
    let text = text.strip_prefix("<|im_system|>tool_declare<|im_middle|>").unwrap();
    text.split("<|im_end|>").next().unwrap().to_owned()
}

/// Rule 1.
#[test]
fn blocks_stay() {
    for name in BOTH {
        let model = family(name);
        let turns = [user("U"), said("A", Some("because")), user("V")];
        assert!(shown(model, &Setup::default(), &turns).contains("<think>because</think>A<|im_end|>"));
        let fixed = setup(&[("preserve_thinking", json!(false))]);
        let error = model.family.open(scene(&fixed), &turns).unwrap_err().to_string();
        assert!(error.starts_with("chat_template_kwargs.preserve_thinking"), "{error}");
        let golden = goldens::rendered(name).into_iter().find(|g| g.name == "multi_turn_no_tool_thinking/0");
        assert!(!model.spell(&golden.unwrap().native.unwrap()).contains("Thought 2"));
    }
}

/// Rule 2: people and tools are shown by their names, an assistant as what the prompt opened.
#[test]
fn names_are_shown_but_for_the_assistants() {
    let named = |message: Message| Message { name: Some("bob".into()), ..message };
    let text = shown(family("kimi25"), &Setup::default(), &[named(user("U")), named(said("A", None))]);
    assert!(text.starts_with("<|im_user|>bob<|im_middle|>U<|im_end|><|im_assistant|>assistant<|im_middle|>"));
}

/// Rule 3.
#[test]
fn the_switch_has_two_names_that_agree() {
    let starts = |pairs: &[(&str, Value)]| {
        family("kimi25").family.open(scene(&setup(pairs)), &[user("U")]).map(|opened| opened.start)
    };
    assert_eq!(starts(&[]).unwrap(), StartState::Reasoning);
    assert_eq!(starts(&[("thinking", json!(false))]).unwrap(), StartState::Content);
    assert_eq!(starts(&[("enable_thinking", json!(false))]).unwrap(), StartState::Content);
    assert_eq!(starts(&[("thinking", json!(0))]).unwrap(), StartState::Reasoning);
    let both = [("thinking", json!(true)), ("enable_thinking", json!(false))];
    let error = starts(&both).unwrap_err().to_string();
    assert!(
        error.starts_with("chat_template_kwargs.enable_thinking: false conflicts with thinking"),
        "{error}"
    );
}

/// Rule 4, and what the declaration looks like; what it fails on is JSON, as in the official template.
#[test]
fn tools_are_typescript_where_they_can_be() {
    assert_eq!(
        declared(json!({"name": "f"})),
        "# Tools\n\n## functions\nnamespace functions {\ntype f = (_: {}) => any;\n}\n"
    );
    let schema = json!({"type": "object", "required": ["b"], "additionalProperties": false, "properties": {
        "b": {"type": "integer", "minimum": 1, "description": "How\nmany"},
        "a": {"enum": ["x", null], "default": "x"},
        "c": {"type": "array", "items": {"type": "string", "description": "each"}},
        "d": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object", "description": "A node"}}});
    let function = json!({"name": "g", "description": "Does it", "parameters": schema});
    assert_eq!(
        declared(json!({"type": "function", "function": function})),
        "# Tools\n\n## functions\nnamespace functions {\n// A node\ninterface node {}\n// Does it\ntype g = (_: {\n  // How\n  // many\n  // minimum: 1\n  b: number,\n  // Default: \"x\"\n  a?: \"x\" | None,\n  c?: Array<\n    // each\n    string\n  >,\n  d?: node,\n  [k: string]: never\n}) => any;\n}\n"
    );
    let odd = json!({"name": "f", "parameters": {"properties": {"a": {"description": "?"}}}});
    assert_eq!(
        declared(json!({"type": "function", "function": odd})),
        r#"[{"function":{"name":"f","parameters":{"properties":{"a":{"description":"?"}}}},"type":"function"}]"#
    );
}

/// Rules 5 and 6.
#[test]
fn argument_text_and_ids_are_kept() {
    let model = family("kimi26");
    let text = shown(model, &Setup::default(), &[user("U"), called(Some("mine"), "{ \"a\":1 }")]);
    assert!(text.contains("<|tool_call_begin|>mine<|tool_call_argument_begin|>{ \"a\":1 }<|tool_call_end|>"));
    let text = shown(model, &Setup::default(), &[user("U"), called(None, "{}")]);
    assert!(text.contains("<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"), "{text}");
    let sampled = |id| {
        let ids = model.family.reply(scene(&Setup::default()), StartState::Content, &called(id, "{}"));
        model.spell(&ids.unwrap())
    };
    assert!(sampled(Some("functions.f:7")).contains("functions.f:7<|"));
    assert!(sampled(Some("call_7")).contains("functions.f:0<|"));
}
