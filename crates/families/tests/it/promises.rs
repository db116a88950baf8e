//! What holds for every family, whatever is written: by people, by tools, by models.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Part, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{Junction, Repair};
use verbatim_tokens::TokenId;

use crate::assets::Model;
use crate::evidence::record;
use crate::goldens::scene;
use crate::parsing::{added_up, parse, told_message};

/// More cases where it is asked for: the extended run has 100,000.
fn check<S: Strategy>(
    model: &Model,
    what: &str,
    cases: u32,
    strategy: &S,
    promise: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let cases = std::env::var("VERBATIM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(strategy, promise)
        .unwrap();
    record(model, &format!("cases.{what}"), cases as usize);
}

fn tools() -> Setup {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "l": {"type": ["array", "null"]}}});
    let tool =
        json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}});
    Setup { tools: vec![Tool(tool)], ..Setup::default() }
}

/// The spellings that mean something to some family, and this one's own.
fn spellings(model: &Model) -> Vec<String> {
    let known = [
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<function=f>",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<minimax:tool_call>",
        "</minimax:tool_call>",
        "<invoke name=\"f\">",
        "</invoke>",
        "<parameter name=\"a\">",
        "<|im_start|>",
        "<|im_end|>",
        "{\"name\": \"f\", \"arguments\": {\"a\": \"é😀\"}}",
        "{\"name\": \"g\", \"arguments\":",
        "f",
        "a",
        "\n",
        "\n\n",
        "\"",
        "\\",
        "</tool_",
        "</",
        "1.50",
        "[1, 2]",
        "null",
    ];
    let own = model.tokenizer.added().into_iter().map(|added| added.spelling);
    known.iter().map(|text| (*text).to_owned()).chain(own).collect()
}

/// What models write: marks and borders more often than chance has them.
fn written(model: &Model) -> impl Strategy<Value = String> + use<> {
    let fragment = prop_oneof![
        3 => prop::sample::select(spellings(model)),
        1 => "[<>{}/ a-c\n日😀]{0,6}",
    ];
    prop::collection::vec(fragment, 0..16).prop_map(|parts| parts.concat())
}

fn start() -> impl Strategy<Value = StartState> {
    prop_oneof![Just(StartState::Content), Just(StartState::Reasoning)]
}

/// Any split of the ids gives the same parts, and they add up to the message.
pub(crate) fn any_split_of_the_ids_gives_the_same_parts(model: &Model) {
    let cuts = prop::collection::vec(0usize..5, 0..40);
    check(
        model,
        "splits",
        300,
        &(written(model), start(), cuts, any::<bool>()),
        |(text, start, pieces, with)| {
            let setup = if with { tools() } else { Setup::default() };
            let ids = model.ids(&text);
            let whole = parse(model, &setup, start, &ids, &[]);
            prop_assert_eq!(added_up(&whole.0), told_message(&whole.1.message));
            prop_assert_eq!(&parse(model, &setup, start, &ids, &pieces), &whole);
            prop_assert_eq!(&parse(model, &setup, start, &ids, &vec![1; ids.len()]), &whole);
            Ok(())
        },
    );
}

/// Ids of parts of characters, and ids that no vocabulary has, do no harm.
pub(crate) fn broken_characters_and_unknown_ids_do_no_harm(model: &Model) {
    let most = u32::try_from(model.tokenizer.vocabulary()).unwrap();
    let id = prop_oneof![0u32..400, most.saturating_sub(40)..most + 5, any::<u32>()];
    check(model, "garbage", 300, &(prop::collection::vec(id, 0..60), start()), |(raw, start)| {
        let ids = TokenId::wrap(&raw);
        let whole = parse(model, &tools(), start, ids, &[]);
        prop_assert_eq!(added_up(&whole.0), told_message(&whole.1.message));
        prop_assert_eq!(&parse(model, &tools(), start, ids, &vec![1; ids.len()]), &whole);
        Ok(())
    });
}

/// Whatever was not understood is still there.
pub(crate) fn no_letter_is_lost(model: &Model) {
    check(model, "letters", 300, &(written(model), start()), |(text, start)| {
        let (parts, parsed) = parse(model, &tools(), start, &model.ids(&text), &[]);
        if parsed.message.tool_calls.is_empty() {
            let (reasoning, content, _) = added_up(&parts);
            let letters = |text: &str| text.chars().filter(|c| *c == '日' || *c == '😀').count();
            prop_assert_eq!(letters(&reasoning) + letters(&content), letters(&text));
        }
        Ok(())
    });
}

fn call() -> impl Strategy<Value = String> {
    let text = "[a-z<>/😀 \n]{0,8}";
    (prop::option::of(text), prop::option::of(any::<i32>())).prop_map(|(text, number)| {
        let mut map = serde_json::Map::new();
        map.extend(text.map(|text| ("a".to_owned(), Value::from(text))));
        map.extend(number.map(|number| ("n".to_owned(), Value::from(number))));
        let pairs = map.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect::<Vec<_>>();
        format!("{{{}}}", pairs.join(", "))
    })
}

/// A message that is said is read again, from every start that a prompt leaves.
pub(crate) fn what_is_said_is_read_again(model: &Model) {
    let asked = |value: bool| {
        let template = [("enable_thinking".to_owned(), json!(value))].into_iter().collect();
        Setup { template, ..tools() }
    };
    let user = Message::new(Role::User, "hi");
    let all = [tools(), asked(true), asked(false)].map(|setup| match calls_exist(model) {
        true => setup,
        false => Setup { tools: Vec::new(), ..setup },
    });
    let starts: Vec<(Setup, StartState)> = all
        .into_iter()
        .filter_map(|setup| {
            let opened = model.family.open(scene(&setup), std::slice::from_ref(&user)).ok()?;
            Some((setup, opened.start))
        })
        .collect();
    let content = "([a-c<>\n 日]{0,8}[a-c]|)";
    let reasoning = prop::option::of("[a-c\n ]{0,5}[a-c][a-c\n ]{0,5}");
    // Kimi's ids name the function; other families have none, and the parser makes them.
    let prefix = if model.name.starts_with("kimi") { "functions.f:" } else { "call_" };
    let strategy = (content, reasoning, prop::collection::vec(call(), 0..3), 0..starts.len());
    check(model, "read_again", 300, &strategy, |(content, reasoning, calls, which)| {
        let (setup, start) = &starts[which];
        let mut message = Message::new(Role::Assistant, content.as_str());
        message.reasoning = reasoning;
        let calls = calls.iter().enumerate();
        message.tool_calls = calls
            .map(|(at, arguments)| ToolCall {
                id: Some(format!("{prefix}{at}")),
                name: "f".into(),
                arguments: Arguments::Text(arguments.clone()),
            })
            .collect();
        if content.is_empty() && !message.tool_calls.is_empty() {
            message.content = Content::Absent;
        }
        let Ok(ids) = model.family.reply(scene(setup), *start, &message) else {
            // Only reasoning can be what a format, or a prompt, has no place for; and calls, where there
            // are none.
            prop_assert!(message.reasoning.is_some() || !calls_exist(model));
            return Ok(());
        };
        prop_assert!(model.family.stop_ids().contains(ids.last().unwrap()));
        let mut parser = model.family.parser(scene(setup), *start, "call_");
        parser.push(&ids, &mut Vec::new());
        let parsed = parser.finish(&mut Vec::new());
        prop_assert_eq!(&parsed.flaws, &[]);
        for (call, said) in parsed.message.tool_calls.iter().zip(&mut message.tool_calls) {
            // Where the model writes ids, they are its own.
            if call.id.as_deref().is_some_and(|id| id.starts_with("functions.f:")) {
                said.id.clone_from(&call.id);
            }
        }
        prop_assert_eq!(&parsed.message, &message, "{}", model.spell(&ids));
        Ok(())
    });
}

/// Whether the family has a format for tools.
fn calls_exist(model: &Model) -> bool {
    model.name != "gemma3"
}

/// How many tokens of a prompt are special.
fn specials(model: &Model, setup: &Setup, messages: &[Message]) -> Option<usize> {
    let ids = model.family.open(scene(setup), messages).ok()?.ids;
    Some(ids.into_iter().filter(|id| model.tokenizer.is_special(*id)).count())
}

/// Nobody but the template and the model makes special tokens.
pub(crate) fn no_text_of_a_person_or_a_tool_becomes_a_control_token(model: &Model) {
    let spelling = prop::sample::select(spellings(model));
    let piece = prop_oneof![spelling, "[<>|a-z\n ]{0,4}"];
    check(model, "control", 200, &prop::collection::vec(piece, 0..8), |parts| {
        let text = format!("a{}b", parts.concat());
        let messages = |text: &str| {
            let mut caller = Message::new(Role::Assistant, "x");
            let arguments = Arguments::Text("{}".into());
            caller.tool_calls = vec![ToolCall { id: Some("c".into()), name: "f".into(), arguments }];
            let mut result = Message::new(Role::Tool, text);
            result.tool_call_id = Some("c".into());
            let mut all =
                vec![Message::new(Role::System, text), Message::new(Role::User, text), caller, result];
            all.truncate(if calls_exist(model) { 4 } else { 2 });
            all
        };
        let declared = |text: &str| {
            if !calls_exist(model) {
                return Setup::default();
            }
            let schema = json!({"type": "object", "properties": {text: {"type": "string", "description": text, text: [text]}}});
            let tool = json!({"type": "function", "function": {"name": "f", "description": text, "parameters": schema}});
            Setup { tools: vec![Tool(tool)], ..Setup::default() }
        };
        let plain = specials(model, &declared("x"), &messages("x"));
        prop_assert!(plain.is_some());
        prop_assert_eq!(specials(model, &declared(&text), &messages(&text)), plain);
        Ok(())
    });
}

fn message(model: &Model) -> impl Strategy<Value = Message> + use<> {
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let content = prop_oneof![
        Just(Content::Absent),
        written(model).prop_map(Content::Text),
        prop::collection::vec(written(model).prop_map(Part::Text), 0..3).prop_map(Content::Parts),
    ];
    let arguments = prop_oneof![call(), written(model), Just("[]".to_owned())];
    let calls = prop::collection::vec((written(model), arguments), 0..3);
    (role, content, prop::option::of(written(model)), calls).prop_map(|(role, content, reasoning, calls)| {
        let mut message = Message::new(role, content);
        message.reasoning = reasoning;
        let calls = calls.into_iter().map(|(name, arguments)| ToolCall {
            id: None,
            name,
            arguments: Arguments::Text(arguments),
        });
        message.tool_calls = calls.collect();
        message
    })
}

/// No conversation panics, and each id has its source.
pub(crate) fn no_conversation_does_harm(model: &Model) {
    let declared = prop_oneof![
        Just(Value::Null),
        Just(json!({"name": 1, "parameters": [], "function": "x"})),
        Just(
            json!({"function": {"parameters": {"properties": {"a": true, "b": {"type": ["string", null]}}, "required": {"x": 1.0}}}})
        ),
        Just(
            json!({"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"enum": [1, null]}}}}})
        ),
    ];
    let messages = prop::collection::vec(message(model), 0..5);
    let strategy = (prop::collection::vec(declared, 0..3), messages, written(model), any::<bool>());
    check(model, "harm", 200, &strategy, |(tools, messages, said, ended)| {
        let setup = Setup { tools: tools.into_iter().map(Tool).collect(), ..Setup::default() };
        if let Ok(rendered) = model.family.open(scene(&setup), &messages) {
            prop_assert_eq!(rendered.sources.len(), rendered.ids.len());
        }
        let mut sampled = model.ids(&said);
        sampled.extend(model.family.stop_ids().first().filter(|_| ended));
        let message = Message::new(Role::Assistant, said.as_str());
        let junction = Junction { sampled: &sampled, message: &message };
        if let Ok(extended) = model.family.extend(scene(&setup), junction, &messages) {
            prop_assert_eq!(extended.sources.len(), extended.ids.len());
            prop_assert!(extended.trim <= model.family.max_trim());
        }
        Ok(())
    });
}

/// A turn that was cut, or that ended on another token, is made to end legally, and that is said.
pub(crate) fn a_turn_that_did_not_end_is_ended(model: &Model) {
    let setup = Setup::default();
    let said = Message::new(Role::Assistant, "x");
    let user = [Message::new(Role::User, "y")];
    let x = model.ids("x");
    let extend = |end: &[TokenId]| {
        let sampled = [&x, end].concat();
        let extended =
            model.family.extend(scene(&setup), Junction { sampled: &sampled, message: &said }, &user);
        let extended = extended.unwrap();
        let kept = &sampled[x.len()..sampled.len() - extended.trim];
        (model.spell(&[kept, &extended.ids].concat()), extended.repair)
    };
    let stop = model.family.stop_ids();
    let (legal, repair) = extend(&stop[..1]);
    assert_eq!(repair, None);
    assert_eq!(extend(&[]), (legal.clone(), Some(Repair::EndAdded)));
    for other in &stop[1..] {
        let (text, repair) = extend(&[*other]);
        let (other, stopped) = (*other, Some(Repair::OtherStop(*other)));
        match model.family.max_trim() {
            // What ends a call ends a turn, whatever it was.
            1 if model.spell(&[other]) == "<|call|>" => {
                assert!(text == legal.replacen("<|end|>", "<|call|>", 1) && repair.is_none(), "{text}");
            }
            // Another opener, or another end, makes way.
            1 => assert!(text == legal && (repair == stopped || repair.is_none()), "{text}"),
            _ => assert!(text.ends_with(&legal) && repair == stopped, "{text}"),
        }
    }
}

/// Absent content is empty content, and parts are their text.
pub(crate) fn absent_content_is_empty_and_parts_are_their_text(model: &Model) {
    let render = |content: Content| {
        let user = Message::new(Role::User, content);
        model.spell(&model.family.open(scene(&Setup::default()), &[user]).unwrap().ids)
    };
    let empty = render(Content::Text(String::new()));
    assert_eq!([render(Content::Absent), render(Content::Parts(vec![]))], [empty.clone(), empty]);
    let parts = ["ab", "c"].map(|text| Part::Text(text.to_owned())).to_vec();
    assert_eq!(render(Content::Parts(parts)), render("abc".into()));
}
