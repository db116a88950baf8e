//! Each rule in which the families with tagged calls differ from their official templates, shown.

use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Flaw, Junction, RenderError};

use crate::assets::{Model, family};
use crate::goldens::{self, scene};
use crate::parsing::parse;

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

fn said(text: &str, reasoning: Option<&str>) -> Message {
    Message { reasoning: reasoning.map(str::to_owned), ..Message::new(Role::Assistant, text) }
}

fn called(arguments: &str) -> Message {
    let call = ToolCall { id: None, name: "f".into(), arguments: Arguments::Text(arguments.into()) };
    Message { content: Content::Absent, tool_calls: vec![call], ..said("", None) }
}

fn setup(pairs: &[(&str, Value)]) -> Setup {
    let template = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Setup { template, ..Setup::default() }
}

fn text(model: &Model, messages: &[Message]) -> String {
    model.spell(&model.family.open(scene(&Setup::default()), messages).unwrap().ids)
}

fn refused(model: &Model, setup: &Setup, messages: &[Message]) -> String {
    model.family.open(scene(setup), messages).unwrap_err().to_string()
}

/// Qwen3.5 rule 1, GLM rule 1, Nemotron rule 1, MiniMax rule 1: a think block stays when a later
/// user speaks. The official templates drop it: that is what their goldens differ in.
#[test]
fn a_think_block_stays_when_a_later_user_speaks() {
    for name in ["qwen35", "qwen36", "glm47", "nemotron3", "minimax_m25", "minimax_m27"] {
        let model = family(name);
        let shown = text(model, &[user("U"), said("A", Some("because")), user("V")]);
        assert!(shown.contains("because"), "{name}: {shown}");
        let golden = goldens::rendered(name).into_iter().find(|g| g.name == "multi_turn_no_tool_thinking/0");
        let golden = golden.unwrap();
        assert!(model.spell(&golden.ids).contains("Thought 2"));
        assert!(!model.spell(&golden.native.unwrap()).contains("Thought 2"), "{name}");
    }
}

#[test]
fn what_keeps_the_block_is_fixed_under_its_names() {
    let fixed = [
        ("qwen35", "preserve_thinking", json!(false)),
        ("qwen36", "clear_thinking", json!(true)),
        ("glm47", "clear_thinking", json!(true)),
        ("nemotron3", "truncate_history_thinking", json!(true)),
        ("minimax_m25", "clear_thinking", json!(true)),
        ("minimax_m27", "enable_thinking", json!(false)),
        ("qwennext", "enable_thinking", json!(false)),
    ];
    for (name, argument, value) in fixed {
        let error = refused(family(name), &setup(&[(argument, value)]), &[user("U")]);
        let said = format!("chat_template_kwargs.{argument}: ");
        assert!(error.starts_with(&said) && error.contains(name), "{error}");
    }
}

/// Qwen3.5 rule 2: a conversation needs no user's query.
#[test]
fn qwen35_needs_no_user() {
    for name in ["qwen35", "qwen36"] {
        let system = Message::new(Role::System, " S\n");
        assert_eq!(
            text(family(name), &[system]),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n<think>\n"
        );
    }
}

/// Qwen3.5 rule 3, MiniMax rule 2: a system message that is not the first is refused by name, and
/// none may follow a turn. MiniMax's own template leaves it out without a word.
#[test]
fn a_later_system_message_is_refused() {
    for name in ["qwen35", "qwen36", "minimax_m25", "minimax_m27"] {
        let model = family(name);
        let late = Message::new(Role::System, "S");
        let error = refused(model, &Setup::default(), &[user("U"), late.clone()]);
        assert_eq!(
            error,
            format!("messages[1]: family {name} cannot render a system message that is not the first")
        );
        let junction = Junction { sampled: &model.family.stop_ids()[..1], message: &said("A", None) };
        let error = model.family.extend(scene(&Setup::default()), junction, &[late]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("messages[0]: role system cannot be appended in family {name}")
        );
        let of_rule = goldens::of(name).into_iter().filter(|golden| golden.refused.is_some());
        assert!(of_rule.count() >= 5);
    }
}

/// Qwen3.5 rule 4, Nemotron rule 2: a result that comes first opens a user's turn.
#[test]
fn a_result_that_comes_first_opens_a_users_turn() {
    let result = [Message::new(Role::Tool, "R")];
    let opened = |name| text(family(name), &result);
    assert_eq!(
        opened("qwen35"),
        "<|im_start|>user\n<tool_response>\nR\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n"
    );
    assert_eq!(
        opened("nemotron3"),
        "<|im_start|>system\n<|im_end|>\n<|im_start|>user\n<tool_response>\nR\n</tool_response>\n<|im_end|>\n\
         <|im_start|>assistant\n<think>\n"
    );
}

/// Qwen3.5 rule 5: history is trimmed as the template trims it, a reply is not.
#[test]
fn qwen35_trims_history_only() {
    let model = family("qwen35");
    let answer = said(" A \n", Some("\n r "));
    let shown = text(model, &[user(" U\n"), answer.clone()]);
    assert!(
        shown.contains("user\nU<|im_end|>") && shown.contains("<think>\nr\n</think>\n\nA<|im_end|>"),
        "{shown}"
    );
    let ids = model.family.reply(scene(&Setup::default()), StartState::Reasoning, &answer).unwrap();
    assert_eq!(model.spell(&ids), "\n r \n</think>\n\n A \n<|im_end|>");
}

/// What Qwen3.5 and Qwen3.6 differ in.
#[test]
fn qwen35_prints_as_python_does_and_qwen36_as_json() {
    let shown = |name| {
        text(family(name), &[user("U"), called("{\"a\": true, \"b\": null, \"c\": [true], \"d\": 1e22}")])
    };
    let values = |text: String| {
        let values = text.split("\n</parameter>").map(|part| part.rsplit('\n').next().unwrap().to_owned());
        values.take(4).collect::<Vec<_>>()
    };
    assert_eq!(values(shown("qwen35")), ["True", "None", "[true]", "1e+22"]);
    assert_eq!(values(shown("qwen36")), ["true", "null", "[true]", "1e+22"]);
}

/// GLM rule 2: the opener that a model samples to end its turn stands once, and is the model's.
#[test]
fn glm_keeps_the_sampled_opener_if_it_is_the_one_that_follows() {
    let model = family("glm47");
    let [user_token, observation, end] = model.family.stop_ids() else { panic!("three stop tokens") };
    let setup = Setup::default();
    let extend = |last, new: &[Message]| {
        let junction = Junction { sampled: &[last], message: &said("A", None) };
        let extended = model.family.extend(scene(&setup), junction, new).unwrap();
        (extended.trim, model.spell(&extended.ids), extended.repair.is_some())
    };
    let result = [Message::new(Role::Tool, "R")];
    let next = "<|assistant|><think>";
    assert_eq!(extend(*user_token, &[user("U")]), (0, format!("U{next}"), false));
    assert_eq!(extend(*observation, &result), (0, format!("<tool_response>R</tool_response>{next}"), false));
    assert_eq!(
        extend(*user_token, &result),
        (1, format!("<|observation|><tool_response>R</tool_response>{next}"), false)
    );
    assert_eq!(extend(*observation, &[user("U")]), (1, format!("<|user|>U{next}"), false));
    assert_eq!(extend(*user_token, &[]), (1, next.to_owned(), false));
    // Rule 3: another end makes way, and that is reported.
    assert_eq!(extend(*end, &[user("U")]), (1, format!("<|user|>U{next}"), true));
    assert_eq!(model.family.max_trim(), 1);
}

/// MiniMax rule 3.
#[test]
fn minimax_refuses_a_result_where_nothing_was_called() {
    let model = family("minimax_m25");
    let result = Message::new(Role::Tool, "R");
    let error = "family minimax_m25 cannot render a tool's result where nothing was called";
    let opened = refused(model, &Setup::default(), &[user("U"), said("A", None), result.clone()]);
    assert_eq!(opened, format!("messages[2]: {error}"));
    let extend = |message: &Message| {
        let junction = Junction { sampled: model.family.stop_ids(), message };
        model.family.extend(scene(&Setup::default()), junction, std::slice::from_ref(&result))
    };
    let refused: RenderError = extend(&said("A", None)).unwrap_err();
    assert_eq!(refused.to_string(), format!("messages[0]: {error}"));
    assert!(extend(&called("{}")).is_ok());
}

/// MiniMax rule 4, and that the two differ in what they call themselves only.
#[test]
fn minimax_shows_bare_declarations_and_its_identity() {
    let setup = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
    let shown = |name| {
        let model = family(name);
        model.spell(&model.family.open(scene(&setup), &[user("U")]).unwrap().ids)
    };
    let text = shown("minimax_m25");
    assert!(text.contains("<tool>{\"name\": \"f\"}</tool>\n"), "{text}");
    assert!(text.contains("Your name is MiniMax-M2.5 and is built by MiniMax."));
    assert_eq!(text.replace("MiniMax-M2.5", "MiniMax-M2.7"), shown("minimax_m27"));
}

/// Qwen3-Next rule 1: the prompt opens the block, whatever is asked.
#[test]
fn what_a_prompt_leaves_the_turn_in() {
    let opened = |name, asked: &[(&str, Value)]| {
        let rendered = family(name).family.open(scene(&setup(asked)), &[user("U")]).unwrap();
        let text = family(name).spell(&rendered.ids);
        (text.rsplit("assistant").next().unwrap().trim_start_matches("|>").to_owned(), rendered.start)
    };
    let off = [("enable_thinking", json!(false))];
    let (reasoning, content) = (StartState::Reasoning, StartState::Content);
    assert_eq!(opened("qwennext", &[]), ("\n<think>\n".to_owned(), reasoning));
    for name in ["qwen35", "qwen36"] {
        assert_eq!(opened(name, &[]), ("\n<think>\n".to_owned(), reasoning));
        assert_eq!(opened(name, &off), ("\n<think>\n\n</think>\n\n".to_owned(), content));
        assert_eq!(opened(name, &[("enable_thinking", json!(0))]).1, reasoning);
    }
    assert_eq!(opened("nemotron3", &[]), ("\n<think>\n".to_owned(), reasoning));
    assert_eq!(opened("nemotron3", &off), ("\n<think></think>".to_owned(), content));
    assert_eq!(opened("glm47", &[]), ("<think>".to_owned(), reasoning));
    assert_eq!(opened("glm47", &off), ("</think>".to_owned(), content));
    // Python's truth decides in these two.
    for name in ["glm47", "nemotron3"] {
        assert_eq!(opened(name, &[("enable_thinking", json!(""))]).1, content);
    }
}

/// Mistral rules 1 to 4.
#[test]
fn mistral_shows_reasoning_and_lets_anyone_speak() {
    let model = family("mistral");
    let system = Message::new(Role::System, "S");
    let shown = |messages: &[Message]| {
        let all = [std::slice::from_ref(&system), messages].concat();
        text(model, &all).strip_prefix("<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT]").unwrap().to_owned()
    };
    assert_eq!(shown(&[user("U"), said("A", Some("r"))]), "[INST]U[/INST][THINK]r[/THINK]A</s>");
    assert_eq!(shown(&[user("U"), user("V"), said("", None)]), "[INST]U[/INST][INST]V[/INST]</s>");
    let error = refused(model, &Setup::default(), &[user("U"), system.clone()]);
    assert!(error.ends_with("a system message that is not the first"), "{error}");
    let odd =
        goldens::rendered("mistral").into_iter().find(|golden| golden.name == "call_name_odd/0").unwrap();
    assert!(
        model.spell(&odd.ids).contains("na\"me") && model.spell(&odd.native.unwrap()).contains("na&#34;me")
    );
}

/// Mistral's calls have no closing mark: they end where the next begins, or with the turn.
#[test]
fn mistrals_calls_end_themselves() {
    let model = family("mistral");
    let setup = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
    let read = |text: &str| {
        let (_, parsed) = parse(model, &setup, StartState::Content, &model.ids(text), &[]);
        let calls =
            parsed.message.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments.text()));
        (parsed.message.content.text().into_owned(), calls.collect::<Vec<_>>(), parsed.flaws)
    };
    let two = "a[TOOL_CALLS]f[ARGS]{\"x\": \"[TOOL_CALLS]\"}[TOOL_CALLS]g[ARGS]{}</s>";
    assert_eq!(read(two), ("a".into(), vec!["f {\"x\": \"[TOOL_CALLS]\"}".into(), "g {}".into()], vec![]));
    let cut = "[TOOL_CALLS]f[ARGS]{\"x\": 1";
    assert_eq!(read(cut), (cut.into(), vec![], vec![Flaw::CallOpen]));
    let broken = "[TOOL_CALLS]f{}[TOOL_CALLS]g[ARGS]{}";
    assert_eq!(read(broken), ("[TOOL_CALLS]f{}".into(), vec!["g {}".into()], vec![Flaw::CallMalformed]));
}

/// Kimi's ids name the function and come back as they are; lightseekorg/smg#1636: arguments on
/// several lines were missed.
#[test]
fn kimis_ids_are_the_models_own() {
    let model = family("kimi26");
    let setup = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
    let section = |calls: &str| format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>");
    let call = |id: &str, arguments: &str| {
        format!("<|tool_call_begin|>{id}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>")
    };
    let read = |text: &str| parse(model, &setup, StartState::Content, &model.ids(text), &[]).1;
    let arguments = "{\n  \"a\": \"x\\n</tool>\",\n  \"b\": [1,  2]\n}";
    let parsed = read(&section(&(call("functions.f:3", arguments) + &call("g:12", "{}"))));
    let calls = parsed.message.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (call.id.clone().unwrap(), call.name.clone(), call.arguments.text().into_owned()))
        .collect();
    let owned =
        |id: &str, name: &str, arguments: &str| (id.to_owned(), name.to_owned(), arguments.to_owned());
    assert_eq!(calls, [owned("functions.f:3", "f", arguments), owned("g:12", "g", "{}")]);
    for broken in [
        call("f", "{}"),
        call("functions.f:x", "{}"),
        call("functions.f:0", "[1]"),
        call("functions.f:0", "{"),
    ] {
        let text = section(&broken);
        let parsed = read(&text);
        assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws.len()), (text.as_str(), 1));
    }
}
