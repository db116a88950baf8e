//! Each rule in which Llama 3 and Inkling differ from their official renderers, and how both are read.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Flaw, Junction, Options, Parsed, load_with};

use crate::assets::{Model, family};
use crate::goldens::scene;
use crate::parsing::parse;

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

fn said(text: &str, calls: usize) -> Message {
    let call = |nth: usize| ToolCall {
        id: Some(format!("c{nth}")),
        name: "f".into(),
        arguments: Arguments::Text("{\"b\": 1, \"a\": \"x\"}".into()),
    };
    let content = if text.is_empty() { Content::Absent } else { Content::from(text) };
    Message { tool_calls: (0..calls).map(call).collect(), ..Message::new(Role::Assistant, content) }
}

fn setup(pairs: &[(&str, Value)], tools: bool) -> Setup {
    let template = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let tool = || Tool(json!({"type": "function", "function": {"name": "f"}}));
    Setup { template, tools: tools.then(tool).into_iter().collect() }
}

fn shown(model: &Model, setup: &Setup, messages: &[Message]) -> String {
    model.spell(&model.family.open(scene(setup), messages).unwrap().ids)
}

fn refused(name: &'static str, setup: &Setup, messages: &[Message]) -> String {
    family(name).family.open(scene(setup), messages).unwrap_err().to_string()
}

fn read(model: &Model, text: &str) -> Parsed {
    parse(model, &setup(&[], true), StartState::Content, &model.ids(text), &[]).1
}

fn calls(parsed: &Parsed) -> Vec<String> {
    let calls = parsed.message.tool_calls.iter();
    calls.map(|call| format!("{} {}", call.name, call.arguments.text())).collect()
}

/// Llama 3 rule 1, and that more than one call is refused as its template refuses it.
#[test]
fn llama3_keeps_content_beside_a_call() {
    let model = family("llama3");
    let text = shown(model, &setup(&[], false), &[user("U"), said("Look:", 1)]);
    assert!(text.contains(
        "\n\nLook:<|python_tag|>{\"name\": \"f\", \"parameters\": {\"b\": 1, \"a\": \"x\"}}<|eot_id|>"
    ));
    let error = refused("llama3", &setup(&[], false), &[user("U"), said("", 2)]);
    assert_eq!(error, "messages[1]: family llama3 cannot render more than one tool call in a turn");
}

/// Llama 3 rules 2 and 3.
#[test]
fn llama3_declares_tools_to_a_user_only() {
    let error = refused("llama3", &setup(&[], true), &[said("A", 0), user("U")]);
    assert_eq!(error, "messages[0]: family llama3 cannot render tools where no user's message comes first");
    let in_system = setup(&[("tools_in_user_message", json!(false))], true);
    assert!(shown(family("llama3"), &in_system, &[said("A", 0)]).contains("You have access to"));
    for name in ["builtin_tools", "custom_tools"] {
        let error = refused("llama3", &setup(&[(name, json!([]))], false), &[user("U")]);
        assert!(error.starts_with(&format!("chat_template_kwargs.{name}")), "{error}");
    }
    let error = refused("llama3", &setup(&[("date_string", json!(7))], false), &[user("U")]);
    assert!(error.contains("date_string"), "{error}");
    // Rule 4.
    assert!(
        shown(family("llama3"), &setup(&[], false), &[])
            .ends_with("<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")
    );
}

/// A turn of Llama 3 that is a call, or that has one after the token; anything else is what it is.
#[test]
fn llama3_calls_are_whole_turns_or_follow_the_token() {
    let model = family("llama3");
    let one = r#"{"name": "f", "parameters": {"a":  1e5}}"#;
    let parsed = read(model, &format!("{one}<|eot_id|>"));
    assert_eq!((calls(&parsed), parsed.flaws.len()), (vec!["f {\"a\":  1e5}".to_owned()], 0));
    let parsed = read(model, &format!("So<|python_tag|>{one}; {one}<|eom_id|>"));
    assert_eq!((parsed.message.content.text().as_ref(), calls(&parsed).len()), ("So", 2));
    for answer in [r#"{"answer": 42}"#, r#"{"name": "Bob"}x"#, "{", r#" {"name": "f", "parameters": {}}"#] {
        let parsed = read(model, answer);
        assert_eq!((parsed.message.content.text().as_ref(), calls(&parsed).len()), (answer, 0));
    }
    let cut = r#"{"name": "f", "param"#;
    let parsed = read(model, cut);
    assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws), (cut, vec![Flaw::CallOpen]));
    let broken = "<|python_tag|>f.call()";
    let parsed = read(model, broken);
    assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws), (broken, vec![Flaw::CallMalformed]));
}

/// Inkling rule 1.
#[test]
fn inkling_keeps_an_empty_turn() {
    let model = family("inkling");
    let text = shown(model, &setup(&[], false), &[user("U"), said("", 0), user("V")]);
    let turns = "<|message_user|><|content_text|>U<|end_message|><|message_model|><|content_model_end_sampling|><|message_user|><|content_text|>V<|end_message|><|message_model|>";
    assert_eq!(
        text,
        format!("<|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>{turns}")
    );
}

/// Inkling rule 2, at the junction as in the whole; arguments in history have their keys in order.
#[test]
fn inkling_names_results_by_the_calls_before_them() {
    let model = family("inkling");
    let result = Message { tool_call_id: Some("c1".into()), ..Message::new(Role::Tool, "R") };
    let named = Message { name: Some("g".into()), ..result.clone() };
    let junction = Junction { sampled: &model.family.stop_ids()[..1], message: &said("", 2) };
    let extended = model.family.extend(scene(&setup(&[], false)), junction, &[result, named]).unwrap();
    let block = |name: &str| format!("<|message_tool|>{name}<|content_text|>R<|end_message|>");
    assert_eq!(model.spell(&extended.ids), format!("{}{}<|message_model|>", block("f"), block("g")));
    let text = shown(model, &setup(&[], false), &[user("U"), said("", 1)]);
    let call = "<|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{\"a\":\"x\",\"b\":1}}<|end_message|><|content_model_end_sampling|>";
    assert!(text.contains(call), "{text}");
}

/// Inkling rules 3 and 4.
#[test]
fn inkling_declares_bare_tools_and_takes_efforts() {
    let model = family("inkling");
    let bare = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
    let declared = r#"tool_declare<|content_xml|>[{"description":"","name":"f","parameters":{},"type":"function"}]<|end_message|>"#;
    assert!(shown(model, &bare, &[user("U")]).contains(declared));
    for (effort, level) in
        [(json!("low"), "0.2"), (json!("none"), "0"), (json!(0.125), "0.12"), (json!(0), "0")]
    {
        let text = shown(model, &setup(&[("reasoning_effort", effort)], false), &[user("U")]);
        assert!(text.contains(&format!("Thinking effort level: {level}<|end_message|>")), "{text}");
    }
    for (name, value) in [
        ("reasoning_effort", json!(1)),
        ("reasoning_effort", json!("huge")),
        ("enable_thinking", json!(false)),
    ] {
        let error = refused("inkling", &setup(&[(name, value)], false), &[user("U")]);
        assert!(error.starts_with(&format!("chat_template_kwargs.{name}")), "{error}");
    }
}

/// `default` reads Inkling's turns by SGLang's names, which go together.
#[test]
fn default_reads_inklings_turns() {
    let template = "{% for m in messages %}{% if m.role == 'assistant' %}<|message_model|><|content_text|>{{ m.content }}<|end_message|><|content_model_end_sampling|>{% else %}<|message_user|><|content_text|>{{ m.content }}<|end_message|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|message_model|>{% endif %}";
    let options = |calls: &str| Options {
        template: Some(template.to_owned()),
        special_tokens: [("eos_token".to_owned(), json!("<|content_model_end_sampling|>"))]
            .into_iter()
            .collect(),
        reasoning_parser: Some("inkling".to_owned()),
        tool_call_parser: Some(calls.to_owned()),
        ..Options::default()
    };
    let inkling = family("inkling");
    let load = |calls| load_with("default", Arc::clone(&inkling.tokenizer), &options(calls));
    let Err(error) = load("none") else { panic!("one name alone") };
    assert!(error.to_string().contains("name it for both"), "{error}");
    let model = Model {
        name: "default",
        tokenizer: Arc::clone(&inkling.tokenizer),
        family: load("inkling").unwrap(),
    };
    let turn = "<|content_thinking|>r<|end_message|><|message_model|>f<|content_invoke_tool_json|>{\"name\":\"f\",\"args\":{}}<|end_message|><|content_model_end_sampling|>";
    let parsed = read(&model, turn);
    assert_eq!((parsed.message.reasoning.as_deref(), calls(&parsed)), (Some("r"), vec!["f {}".to_owned()]));
}

/// What Inkling's messages are read as: the tokens cut, never text; what is no call is content.
#[test]
fn inkling_turns_are_cut_at_tokens() {
    let model = family("inkling");
    let call = "<|message_model|>f<|content_invoke_tool_json|>{\"name\": \"f\", \"args\": {\"b\":  1e5}}<|end_message|>";
    let parsed = read(
        model,
        &format!(
            "<|content_thinking|>r\n<|end_message|><|message_model|><|content_text|>\na<|end_message|>{call}{call}<|content_model_end_sampling|>"
        ),
    );
    assert_eq!(
        (parsed.message.reasoning.as_deref(), parsed.message.content.text().as_ref()),
        (Some("r\n"), "\na")
    );
    assert_eq!(calls(&parsed), vec!["f {\"b\":  1e5}"; 2]);
    let mut spelled = Vec::new();
    model.tokenizer.encode("<|content_thinking|>x<|end_message|>", &mut spelled);
    let parsed = parse(model, &setup(&[], true), StartState::Content, &spelled, &[]).1;
    assert_eq!(parsed.message.content.text(), "<|content_thinking|>x<|end_message|>");
    let open = read(model, "<|content_thinking|>still");
    assert_eq!((open.message.reasoning.as_deref(), open.flaws), (Some("still"), vec![Flaw::ReasoningOpen]));
    for (broken, flaw) in [("[1]}<|end_message|>", Flaw::CallMalformed), ("{\"b", Flaw::CallOpen)] {
        let text = format!("f<|content_invoke_tool_json|>{{\"name\": \"f\", \"args\": {broken}");
        let parsed = read(model, &text);
        assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws), (text.as_str(), vec![flaw]));
    }
}
