//! Each rule in which DeepSeek V3.2 and V4 differ from their official encoders, and what they refuse.

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Flaw, Junction};

use crate::assets::{Model, family};
use crate::goldens::{self, scene};
use crate::parsing::parse;

const BOTH: [&str; 2] = ["deepseekv32", "deepseekv4"];

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

fn said(text: &str, reasoning: Option<&str>) -> Message {
    Message { reasoning: reasoning.map(str::to_owned), ..Message::new(Role::Assistant, text) }
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall {
        id: Some((*id).to_owned()),
        name: "f".into(),
        arguments: Arguments::Text("{}".into()),
    };
    Message { content: Content::Absent, tool_calls: ids.iter().map(call).collect(), ..said("", None) }
}

fn result(id: &str, text: &str) -> Message {
    Message { tool_call_id: Some(id.to_owned()), ..Message::new(Role::Tool, text) }
}

fn setup(pairs: &[(&str, Value)]) -> Setup {
    let template = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Setup { template, ..Setup::default() }
}

fn shown(model: &Model, setup: &Setup, messages: &[Message]) -> String {
    model.spell(&model.family.open(scene(setup), messages).unwrap().ids)
}

fn refused(name: &'static str, setup: &Setup, messages: &[Message]) -> String {
    family(name).family.open(scene(setup), messages).unwrap_err().to_string()
}

/// Rule 1 of both: what was thought stays. The programs drop it before the last user's message.
#[test]
fn what_was_thought_stays() {
    for name in BOTH {
        let turns = [user("U"), said("A", Some("because")), user("V")];
        let text = shown(family(name), &Setup::default(), &turns);
        let turn =
            "<｜Assistant｜><think>because</think>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜><think>";
        assert!(text.ends_with(turn), "{text}");
        let error = refused(name, &setup(&[("drop_thinking", json!(true))]), &turns);
        assert!(error.starts_with("chat_template_kwargs.drop_thinking"), "{error}");
        let golden = goldens::rendered(name).into_iter().find(|g| g.name == "multi_turn_no_tool_thinking/0");
        assert!(!family(name).spell(&golden.unwrap().native.unwrap()).contains("Thought 2"));
    }
}

/// Rule 2 of both: an assistant's turn is opened wherever one follows, and nowhere else.
#[test]
fn every_turn_has_its_opener() {
    for name in BOTH {
        let off = setup(&[("thinking", json!(false))]);
        let text = shown(family(name), &off, &[user("U"), said("A", Some("r")), said("B", None)]);
        let turn = |text: &str| format!("<｜Assistant｜></think>{text}<｜end▁of▁sentence｜>");
        let expected =
            format!("<｜begin▁of▁sentence｜><｜User｜>U{}{}<｜Assistant｜></think>", turn("A"), turn("B"));
        assert_eq!(text, expected, "{name}");
    }
    let two = [user("U"), user("V")];
    assert_eq!(
        shown(family("deepseekv32"), &Setup::default(), &two),
        "<｜begin▁of▁sentence｜><｜User｜>U<｜User｜>V<｜Assistant｜><think>"
    );
    assert_eq!(
        shown(family("deepseekv4"), &Setup::default(), &two),
        "<｜begin▁of▁sentence｜><｜User｜>U\n\nV<｜Assistant｜><think>"
    );
}

/// V3.2 rule 3: a block of results is closed although a call has no result; and what answers no call
/// is refused, as the program refuses it.
#[test]
fn results_of_v32_are_closed_and_answer_a_call() {
    let model = family("deepseekv32");
    let text = shown(model, &Setup::default(), &[user("U"), calls(&["a", "b"]), result("a", "R")]);
    let end = "\n\n<function_results>\n<result>R</result>\n</function_results>\n\n<think>";
    assert!(text.ends_with(end), "{text}");
    let error = "family deepseekv32 cannot render a tool's result where nothing was called";
    let late = [user("U"), calls(&["a"]), result("a", "R"), result("b", "S")];
    assert_eq!(refused("deepseekv32", &Setup::default(), &late), format!("messages[3]: {error}"));
    let junction = Junction { sampled: model.family.stop_ids(), message: &calls(&["a"]) };
    let extended = model.family.extend(scene(&Setup::default()), junction, &[result("a", "R")]).unwrap();
    assert_eq!(model.spell(&extended.ids), end);
}

/// Rule 4 of V3.2, rule 3 of V4.
#[test]
fn a_bare_declaration_is_shown() {
    for name in BOTH {
        let bare = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
        let text = shown(family(name), &bare, &[user("U")]);
        assert!(text.contains("\n{\"name\": \"f\"}\n"), "{text}");
    }
}

/// Rule 5 of V3.2, rule 4 of V4: where a later system message may stand.
#[test]
fn a_later_system_message_is_placed_or_refused() {
    let system = || Message::new(Role::System, "S");
    let between = [user("U"), said("A", None), system(), user("V")];
    let text = shown(family("deepseekv32"), &Setup::default(), &between);
    assert!(text.contains("A<｜end▁of▁sentence｜>S<｜User｜>V"), "{text}");
    for (name, late) in [
        ("deepseekv32", vec![user("U"), system()]),
        ("deepseekv32", vec![user("U"), said("A", None), system()]),
        ("deepseekv4", between.to_vec()),
    ] {
        let error = refused(name, &Setup::default(), &late);
        assert!(error.contains("system message that"), "{error}");
    }
    let junction = Junction { sampled: family("deepseekv4").family.stop_ids(), message: &said("A", None) };
    let error = family("deepseekv4").family.extend(scene(&Setup::default()), junction, &[system()]);
    assert!(error.unwrap_err().to_string().contains("role system cannot be appended"));
}

/// V4 rule 5: results stand in the order of their calls, and share a turn with what a user says.
#[test]
fn results_of_v4_stand_in_the_order_of_their_calls() {
    let model = family("deepseekv4");
    let late = [result("b", "2"), user("and"), result("a", "1")];
    let turns = [&[user("U"), calls(&["a", "b"])], late.as_slice()].concat();
    let end =
        "<｜User｜><tool_result>1</tool_result>\n\nand\n\n<tool_result>2</tool_result><｜Assistant｜><think>";
    assert!(shown(model, &Setup::default(), &turns).ends_with(end));
    let junction = Junction { sampled: model.family.stop_ids(), message: &calls(&["a", "b"]) };
    let extended = model.family.extend(scene(&Setup::default()), junction, &late).unwrap();
    assert_eq!(model.spell(&extended.ids), end);
}

/// Rule 6 of both: the names of the switch, and that they must agree.
#[test]
fn the_switch_has_three_names_that_agree() {
    let starts = |pairs: &[(&str, Value)]| {
        family("deepseekv4").family.open(scene(&setup(pairs)), &[user("U")]).map(|opened| opened.start)
    };
    assert_eq!(starts(&[]).unwrap(), StartState::Reasoning);
    for (name, value) in
        [("thinking", json!(false)), ("enable_thinking", json!(0)), ("thinking_mode", json!("chat"))]
    {
        assert_eq!(starts(&[(name, value)]).unwrap(), StartState::Content, "{name}");
    }
    let both = [("thinking_mode", json!("thinking")), ("thinking", json!(false))];
    let error = starts(&both).unwrap_err().to_string();
    assert!(
        error.starts_with("chat_template_kwargs.thinking: false conflicts with thinking_mode"),
        "{error}"
    );
    let error = starts(&[("thinking_mode", json!("deep"))]).unwrap_err().to_string();
    assert!(error.contains("\"thinking\" or \"chat\""), "{error}");
    let error = starts(&[("reasoning_effort", json!("low"))]).unwrap_err().to_string();
    assert!(error.contains("\"high\" or \"max\""), "{error}");
}

/// Parameters say themselves whether they are text; JSON keeps its bytes; what is neither is no call.
#[test]
fn calls_keep_their_bytes() {
    let model = family("deepseekv4");
    let with = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
    let block = |inside: &str| {
        format!(
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n{inside}\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
        )
    };
    let parameter = |key: &str, text: &str, value: &str| {
        format!("<｜DSML｜parameter name=\"{key}\" string=\"{text}\">{value}</｜DSML｜parameter>")
    };
    let read = |text: &str| parse(model, &with, StartState::Content, &model.ids(text), &[]).1;
    let two = [parameter("a", "true", "false"), parameter("b", "false", "[1,  2.50]")].join("\n");
    let parsed = read(&format!("So\n\n{}", block(&two)));
    assert_eq!(parsed.message.content.text(), "So");
    let call = &parsed.message.tool_calls[0];
    assert_eq!(call.arguments.text(), "{\"a\": \"false\", \"b\": [1,  2.50]}");
    for broken in
        [parameter("a", "maybe", "1"), [parameter("a", "true", "1"), parameter("a", "true", "2")].join("\n")]
    {
        let text = block(&broken);
        let parsed = read(&text);
        assert_eq!(parsed.message.content.text(), text);
        assert_eq!(parsed.flaws, [Flaw::CallMalformed]);
    }
}
