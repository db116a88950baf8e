//! Each rule in which gpt-oss and Gemma 3 differ from their official templates, and how both are read.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Flaw, Junction, Options, Parsed, Repair, Scene, load_with};

use crate::assets::{Model, family};
use crate::goldens::scene;
use crate::parsing::parse;

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

fn said(text: &str, calls: &[&str]) -> Message {
    let call = |(nth, name): (usize, &&str)| ToolCall {
        id: Some(format!("c{nth}")),
        name: (*name).into(),
        arguments: Arguments::Text("{\"b\": 1}".into()),
    };
    let content = if text.is_empty() { Content::Absent } else { Content::from(text) };
    let tool_calls = calls.iter().enumerate().map(call).collect();
    Message { tool_calls, ..Message::new(Role::Assistant, content) }
}

fn thought(message: Message) -> Message {
    Message { reasoning: Some("R".into()), ..message }
}

fn result(id: &str) -> Message {
    Message { tool_call_id: Some(id.into()), ..Message::new(Role::Tool, "a \"b\"") }
}

fn asked(name: &str, value: Value) -> Setup {
    Setup { template: [(name.to_owned(), value)].into_iter().collect(), ..Setup::default() }
}

fn declared(tool: Value) -> Setup {
    Setup { tools: vec![Tool(tool)], ..Setup::default() }
}

fn shown(name: &'static str, setup: &Setup, messages: &[Message]) -> String {
    let model = family(name);
    model.spell(&model.family.open(scene(setup), messages).unwrap().ids)
}

fn refused(name: &'static str, setup: &Setup, messages: &[Message]) -> String {
    family(name).family.open(scene(setup), messages).unwrap_err().to_string()
}

fn read(model: &Model, text: &str) -> Parsed {
    parse(model, &Setup::default(), StartState::Content, &model.ids(text), &[]).1
}

fn calls(parsed: &Parsed) -> Vec<String> {
    let calls = parsed.message.tool_calls.iter();
    calls.map(|call| format!("{} {}", call.name, call.arguments.text())).collect()
}

/// gpt-oss rules 1, 2 and 3.
#[test]
fn gptoss_keeps_analysis_commentary_and_every_call() {
    let messages =
        [user("U"), thought(said("A", &["f", "g"])), result("c0"), thought(said("B", &[])), user("V")];
    let text = shown("gptoss", &Setup::default(), &messages);
    let turn = "<|start|>assistant<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>commentary<|message|>A<|end|><|start|>assistant to=functions.f<|channel|>commentary json<|message|>{\"b\": 1}<|call|><|start|>assistant to=functions.g<|channel|>commentary json<|message|>{\"b\": 1}<|call|><|start|>functions.f";
    assert!(text.contains(turn), "{text}");
    let answer = "<|start|>assistant<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>B<|end|><|start|>user";
    assert!(text.contains(answer), "{text}");
}

/// gpt-oss rule 4, at the junction as in the whole; without a call before it a result is refused, as the
/// official template refuses it.
#[test]
fn gptoss_names_results_by_their_calls() {
    let model = family("gptoss");
    let junction = Junction { sampled: &model.ids("<|call|>"), message: &said("", &["f", "g"]) };
    let setup = Setup::default();
    let extended = model.family.extend(scene(&setup), junction, &[result("c1"), result("x")]).unwrap();
    let block = |name: &str| {
        format!(
            "<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>\"a \\\"b\\\"\"<|end|>"
        )
    };
    assert_eq!(model.spell(&extended.ids), format!("{}{}<|start|>assistant", block("g"), block("f")));
    let error = refused("gptoss", &setup, &[user("U"), said("A", &[]), result("c0")]);
    assert_eq!(
        error,
        "messages[2]: family gptoss cannot render a result where the last assistant called nothing"
    );
}

/// gpt-oss rule 5, and how the official template breaks lines.
#[test]
fn gptoss_declares_tools_as_typescript() {
    let bare = declared(json!({"name": "f", "parameters": {"properties": {
        "e": {"type": "string", "enum": ["a", null, 1.0], "default": null},
        "o": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}, "required": ["a"]},
        "u": {"oneOf": [{"type": "string", "default": 1.0}, {"type": ["number", "null"]}]},
        "n": {"type": "string", "nullable": true, "default": "x"},
    }, "required": ["e"]}}));
    let text = shown("gptoss", &bare, &[user("U")]);
    let block = "namespace functions {\n\ntype f = (_: {\ne: \"a\" | \"None\" | \"1.0\", // default: null,\no?: {\na: \n                string, b?: \n                number[]},\nu?: string                    // default: 1.0 | \nnumber | null,\nn?: string | null, // default: \"x\",\n}) => any;\n\n} // namespace functions<|end|><|start|>user";
    assert!(text.contains(block), "{text}");
    assert!(
        text.contains("channel: 'functions'.<|end|><|start|>developer<|message|># Tools\n\n## functions")
    );
    let error = refused("gptoss", &declared(json!({"name": 1})), &[user("U")]);
    assert!(error.contains("tools[0]"), "{error}");
}

/// gpt-oss rules 6 and 7.
#[test]
fn gptoss_refuses_what_its_template_passes_over() {
    let setup = Setup::default();
    let system = Message::new(Role::System, "S");
    let error = refused("gptoss", &setup, &[user("U"), system]);
    assert_eq!(error, "messages[1]: family gptoss cannot render a system message that is not the first");
    for (name, value) in [
        ("reasoning_effort", json!("huge")),
        ("enable_thinking", json!(false)),
        ("builtin_tools", json!(["browser"])),
        ("model_identity", json!(1)),
    ] {
        let error = refused("gptoss", &asked(name, value), &[user("U")]);
        assert!(error.starts_with(&format!("chat_template_kwargs.{name}")), "{error}");
    }
    assert!(
        shown("gptoss", &asked("reasoning_effort", json!("low")), &[]).contains("\n\nReasoning: low\n\n")
    );
}

/// gpt-oss rule 8: what ends a sampled turn, and what history has there.
#[test]
fn gptoss_answers_end_as_history_has_them() {
    let model = family("gptoss");
    let setup = Setup::default();
    let extend = |sampled: &str| {
        let sampled = model.ids(sampled);
        let junction = Junction { sampled: &sampled, message: &said("x", &[]) };
        let extended = model.family.extend(scene(&setup), junction, &[user("y")]).unwrap();
        (extended.trim, model.spell(&extended.ids), extended.repair)
    };
    let next = "<|start|>user<|message|>y<|end|><|start|>assistant";
    let answer = "<|channel|>final<|message|>x";
    assert_eq!(extend(&format!("{answer}<|return|>")), (1, format!("<|end|>{next}"), None));
    assert_eq!(extend(&format!("{answer}<|call|>")), (0, next.to_owned(), None));
    assert_eq!(extend(&format!("{answer}<|end|>")), (0, next.to_owned(), None));
    assert_eq!(extend(answer), (0, format!("<|end|>{next}"), Some(Repair::EndAdded)));
    let other = model.ids("<|endoftext|>")[0];
    let cut = extend(&format!("{answer}<|endoftext|>"));
    assert_eq!(cut, (1, format!("<|end|>{next}"), Some(Repair::OtherStop(other))));
}

/// The date in a prompt is that of the session's opening.
#[test]
fn gptoss_reads_the_sessions_clock() {
    let model = family("gptoss");
    let setup = Setup::default();
    assert!(model.family.reads_clock());
    for (opened, date) in [(0, "1970-01-01"), (951_782_399, "2000-02-28"), (951_782_400, "2000-02-29")] {
        let ids = model.family.open(Scene { setup: &setup, opened }, &[user("U")]).unwrap().ids;
        assert!(model.spell(&ids).contains(&format!("Current date: {date}\n")), "{date}");
    }
    let late = model.family.open(Scene { setup: &setup, opened: i64::MAX }, &[]);
    assert!(late.unwrap_err().to_string().contains("no such time"));
}

/// What a turn's messages are read as: recipient before or after the channel, calls that are none.
#[test]
fn gptoss_turns_are_read_by_their_channels() {
    let model = family("gptoss");
    let analysis = "<|channel|>analysis<|message|>r<|end|><|start|>assistant";
    for call in [
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"b\":  1e5}<|call|>",
        " to=functions.f<|channel|>commentary json<|message|>{\"b\":  1e5}<|call|>",
        "<|channel|>analysis to=functions.f code<|message|>{\"b\":  1e5}<|call|>",
        "<|channel|>commentary<|message|>Look<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{\"b\":  1e5}<|call|>",
    ] {
        let parsed = read(model, &format!("{analysis}{call}"));
        let look = if call.contains("Look") { "Look" } else { "" };
        assert_eq!(parsed.message.reasoning.as_deref(), Some("r"));
        assert_eq!(parsed.message.content.text(), look, "{call}");
        assert_eq!((calls(&parsed), parsed.flaws), (vec!["f {\"b\":  1e5}".to_owned()], vec![]));
    }
}

/// gpt-oss: what is no call, or for nobody known, is content with its frame, and flagged where it is cut.
#[test]
fn gptoss_keeps_what_it_cannot_read() {
    let model = family("gptoss");
    let answer = read(model, "<|channel|>final<|message|> a\n<|return|>");
    assert_eq!((answer.message.content.text().as_ref(), answer.flaws), (" a\n", vec![]));
    let open = read(model, "<|channel|>analysis<|message|>still");
    assert_eq!((open.message.reasoning.as_deref(), open.flaws), (Some("still"), vec![Flaw::ReasoningOpen]));
    let python = "<|channel|>analysis to=python code<|message|>1+1<|call|>";
    let parsed = read(model, python);
    assert_eq!(parsed.message.content.text(), python.strip_suffix("<|call|>").unwrap());
    assert_eq!(parsed.flaws, [Flaw::CallMalformed], "it was meant to call");
    for broken in ["<|channel|>oops to=functions.f<|message|>{}", "<|channel|>commentary to=functions.f"] {
        let parsed = read(model, &format!("{broken}<|call|>"));
        assert_eq!(
            (parsed.message.content.text().as_ref(), parsed.flaws),
            (broken, vec![Flaw::CallMalformed])
        );
    }
    for (end, flaw) in [("<|call|>", Flaw::CallMalformed), ("", Flaw::CallOpen)] {
        let text = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"b\": ";
        let parsed = read(model, &format!("{text}{end}"));
        assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws), (text, vec![flaw]));
    }
    let mut spelled = Vec::new();
    let text = "<|channel|>final<|message|>x<|return|>";
    model.tokenizer.encode(text, &mut spelled);
    let parsed = parse(model, &Setup::default(), StartState::Content, &spelled, &[]).1;
    assert_eq!(parsed.message.content.text(), text);
}

/// `default` reads harmony by SGLang's name, and stops where a call ends.
#[test]
fn default_reads_harmony_by_its_name() {
    let template = "{% for m in messages %}{% if m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% else %}<|start|>user<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}";
    let gptoss = family("gptoss");
    let load = |calls: &str| {
        let options = Options {
            template: Some(template.to_owned()),
            special_tokens: [("eos_token".to_owned(), json!("<|return|>"))].into_iter().collect(),
            reasoning_parser: Some("gpt-oss".to_owned()),
            tool_call_parser: Some(calls.to_owned()),
            ..Options::default()
        };
        load_with("default", Arc::clone(&gptoss.tokenizer), &options)
    };
    let Err(error) = load("hermes") else { panic!("one name alone") };
    assert!(error.to_string().contains("\"gpt-oss\" reads reasoning and calls together"), "{error}");
    let model =
        Model { name: "default", tokenizer: Arc::clone(&gptoss.tokenizer), family: load("gpt-oss").unwrap() };
    assert!(model.family.stop_ids().contains(&model.ids("<|call|>")[0]));
    let parsed = read(&model, "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>");
    assert_eq!(calls(&parsed), ["f {}"]);
}

/// Gemma 3 rules 1 and 5.
#[test]
fn gemma3_lets_anybody_speak_and_trims_history() {
    let text =
        shown("gemma3", &Setup::default(), &[user(" U "), user("V"), said("\nA ", &[]), said("B", &[])]);
    let turns = "<bos><start_of_turn>user\nU<end_of_turn>\n<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_turn>model\nB<end_of_turn>\n<start_of_turn>model\n";
    assert_eq!(text, turns);
    let model = family("gemma3");
    let reply =
        model.family.reply(scene(&Setup::default()), StartState::Content, &said("\nA ", &[])).unwrap();
    assert_eq!(model.spell(&reply), "\nA <end_of_turn>");
}

/// Gemma 3 rules 2, 3 and 4.
#[test]
fn gemma3_refuses_what_it_has_no_place_for() {
    let system = || Message::new(Role::System, "S");
    let plain = Setup::default();
    let text = shown("gemma3", &plain, &[system(), user("U")]);
    assert_eq!(text, "<bos><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\n");
    for (messages, what) in [
        (
            vec![system()],
            "messages[0]: family gemma3 cannot render a system message that no user's message follows",
        ),
        (
            vec![user("U"), system()],
            "messages[1]: family gemma3 cannot render a system message that is not the first",
        ),
        (
            vec![user("U"), said("", &["f"])],
            "messages[1]: family gemma3 cannot render tool calls, which its format does not have",
        ),
        (vec![user("U"), result("c")], "messages[1]: family gemma3 cannot render a tool's result"),
    ] {
        assert_eq!(refused("gemma3", &plain, &messages), what);
    }
    let error = refused("gemma3", &declared(json!({"name": "f"})), &[user("U")]);
    assert!(error.contains("gemma3 has no format for tools"), "{error}");
}

/// Gemma's words: what people write of whitespace and HTML are the tokens that the model saw, and no
/// other added token comes of a text.
#[test]
fn gemma3_words_are_text() {
    let model = family("gemma3");
    let ids = |text: &str| {
        let mut ids = Vec::new();
        model.tokenizer.encode(text, &mut ids);
        ids.iter().map(|id| id.0).collect::<Vec<_>>()
    };
    assert_eq!((ids("\n\n"), ids("<table>"), ids("a\n")), (vec![108], vec![168], vec![236_746, 107]));
    assert!(!model.tokenizer.is_special(verbatim_tokens::TokenId(108)));
    for control in ["<start_of_turn>", "<unused5>", "<mask>", "[multimodal]"] {
        assert!(ids(control).len() > 1, "{control}");
        assert!(model.tokenizer.special(control).is_some(), "{control}");
    }
}
