//! The template engine against CPython, and what a template may do.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use verbatim_chat::{Arguments, Message, Role, Setup, StartState, Tool, ToolCall};
use verbatim_families::{
    Family, FamilyError, Junction, Options, RenderError, Repair, Scene, Source, load, load_with,
};
use verbatim_tokens::TokenId;

use crate::assets::QWEN3;
use crate::goldens::{self, scene};

/// The frame of a well-behaved template around something to try.
const CHAT: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn templated(template: &str) -> Result<Arc<dyn Family>, FamilyError> {
    load("default", Arc::clone(&QWEN3.tokenizer), Some(template), &Map::new())
}

fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

/// What `expression` prints where the argument `x` is `value`.
fn printed(expression: &str, value: &Value) -> String {
    let family =
        templated(&format!("{{{{ {expression} if x is defined else '' }}}}<|endoftext|>{CHAT}")).unwrap();
    let setup =
        Setup { template: [("x".to_owned(), value.clone())].into_iter().collect(), ..Setup::default() };
    let text = QWEN3.spell(&family.open(scene(&setup), &[user("u")]).unwrap().ids);
    text.split_once("<|endoftext|><|im_start|>user").unwrap().0.to_owned()
}

#[test]
fn values_are_printed_and_dumped_as_cpython_does() {
    let plain =
        templated(&format!("{{{{ (x | tojson) if x is defined else '' }}}}<|endoftext|>{CHAT}")).unwrap();
    let mut tried = 0;
    for line in goldens::lines("python") {
        let case: Value = serde_json::from_str(&line).unwrap();
        let value: Value = match case["kind"].as_str().unwrap() {
            "float" => serde_json::from_str(case["repr"].as_str().unwrap()).unwrap(),
            _ => serde_json::from_str(case["json"].as_str().unwrap()).unwrap(),
        };
        // Beyond 64 bits a document that came as `Value` has no integers.
        if case["json"].as_str().is_some_and(|json| {
            json.contains("00000000000000000000000") || json.contains("18446744073709551616")
        }) {
            continue;
        }
        // Text is normalised by the vocabulary, and broken lines are what is tried here.
        let style = case.get("style").and_then(Value::as_object);
        let (got, expected) = match case["kind"].as_str().unwrap() {
            "float" => (printed("x", &value), &case["repr"]),
            "repr" => (printed("x", &value), &case["str"]),
            _ if style.is_some_and(Map::is_empty) => {
                let setup = Setup {
                    template: [("x".to_owned(), value.clone())].into_iter().collect(),
                    ..Setup::default()
                };
                let text = QWEN3.spell(&plain.open(scene(&setup), &[user("u")]).unwrap().ids);
                (text.split_once("<|endoftext|><|im_start|>user").unwrap().0.to_owned(), &case["dumps"])
            }
            _ => {
                let keywords = style.unwrap().iter().map(|(name, value)| match value {
                    Value::Bool(flag) => format!("{name}={flag}"),
                    other => format!("{name}={other}"),
                });
                (
                    printed(&format!("(x | tojson({}))", keywords.collect::<Vec<_>>().join(", ")), &value),
                    &case["dumps"],
                )
            }
        };
        assert_eq!(got, expected.as_str().unwrap(), "{line}");
        tried += 1;
    }
    assert!(tried > 650, "{tried}");
}

#[test]
fn a_list_of_values_is_printed_as_repr() {
    assert_eq!(
        printed("[x, none, true, 'it\\'s']", &json!({"a": [1.0, null]})),
        "[{'a': [1.0, None]}, None, True, \"it's\"]"
    );
    assert_eq!(printed("x | string", &json!(true)), "True");
    assert_eq!(printed("(none is iterable, x is iterable)", &json!([])), "[False, True]");
}

#[test]
fn the_clock_is_the_sessions() {
    let family = templated(&format!("{{{{ strftime_now('%d %b %Y %-H:%M') }}}}{CHAT}")).unwrap();
    let setup = Setup::default();
    let day = |opened: i64| {
        let scene = Scene { setup: &setup, opened };
        let text = QWEN3.spell(&family.open(scene, &[user("u")]).unwrap().ids);
        text.split_once('<').unwrap().0.to_owned()
    };
    assert_eq!((day(1_741_100_767), day(0)), ("04 Mar 2025 15:06".into(), "01 Jan 1970 0:00".into()));
    let broken = templated(&format!("{{% if messages|length == 1 and messages[0].content == 'now' %}}{{{{ strftime_now('%Q!') }}}}{{% endif %}}{CHAT}")).unwrap();
    assert!(matches!(broken.open(scene(&setup), &[user("now")]), Err(RenderError::Template { .. })));
}

#[test]
fn a_template_refuses_in_its_own_words() {
    let family = templated(&format!("{{% if messages[0].content == 'no' %}}{{{{ raise_exception('never ' ~ 'that') }}}}{{% endif %}}{CHAT}")).unwrap();
    let error = family.open(scene(&Setup::default()), &[user("no")]).unwrap_err();
    assert!(error.to_string().contains("never that"), "{error}");
}

#[test]
fn generation_blocks_are_let_through() {
    let template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{%- generation -%}\n{{ m.content }}<|im_end|>\n{%- endgeneration %}\n\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let family = templated(template).unwrap();
    let ids = family.open(scene(&Setup::default()), &[user("u")]).unwrap().ids;
    assert_eq!(QWEN3.spell(&ids), "<|im_start|>useru<|im_end|>\n<|im_start|>assistant\n");
}

#[test]
fn what_people_write_stays_text_and_comes_out_whole() {
    let family = templated(CHAT).unwrap();
    let text =
        "<|im_end|>\u{10f7a3}<\u{10f7a3}\u{10f7a3}|im_end|><think>\u{10f7a4}</think><|im_<|im_start|>start|>";
    let setup = Setup::default();
    let ids = family.open(scene(&setup), &[user(text)]).unwrap().ids;
    assert!(QWEN3.spell(&ids).contains(text), "{}", QWEN3.spell(&ids));
    assert_eq!(ids.iter().filter(|id| QWEN3.tokenizer.is_special(**id)).count(), 3);
    let answer = Message::new(Role::Assistant, "<|im_end|><think>");
    let ids = family.open(scene(&setup), &[user("u"), answer.clone()]).unwrap().ids;
    assert_eq!(ids.iter().filter(|id| QWEN3.tokenizer.is_special(**id)).count(), 6);
    let junction = Junction { sampled: family.stop_ids(), message: &answer };
    let extended = family.extend(scene(&setup), junction, &[user(text)]).unwrap();
    assert_eq!(
        QWEN3.spell(&extended.ids),
        format!("\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")
    );
}

#[test]
fn a_stand_in_is_found_again_even_if_a_tool_spells_it() {
    let family =
        templated(&format!("{{% for t in tools or [] %}}{{{{ t | tojson }}}}{{% endfor %}}{CHAT}")).unwrap();
    let setup = Setup { tools: vec![Tool(json!({"name": "\u{10f7a4}\u{10f7a4}"}))], ..Setup::default() };
    let junction = Junction { sampled: family.stop_ids(), message: &Message::new(Role::Assistant, "a") };
    let extended = family.extend(scene(&setup), junction, &[user("\u{10f7a4}")]).unwrap();
    assert_eq!(
        QWEN3.spell(&extended.ids),
        "\n<|im_start|>user\n\u{10f7a4}<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn sources_are_exact_where_the_template_shows_texts_as_they_are() {
    let family = templated(&CHAT.replace("{{ m.content }}", "{{ m.content | trim }}")).unwrap();
    let messages = [user("user"), Message::new(Role::Assistant, "im"), user("a text that is long enough  ")];
    let rendered = family.open(scene(&Setup::default()), &messages).unwrap();
    let own = |message: usize| {
        let ids = rendered.ids.iter().enumerate();
        let own = ids.filter(|(at, _)| rendered.sources.get(*at) == Some(&Source::Message(message)));
        QWEN3.spell(&own.map(|(_, id)| *id).collect::<Vec<_>>())
    };
    // Marks keep whitespace from being trimmed, so here texts are looked for: the long one is found.
    assert_eq!((own(0), own(1), own(2)), (String::new(), String::new(), "a text that is long enough".into()));
    let family = templated(CHAT).unwrap();
    let rendered = family.open(scene(&Setup::default()), &messages).unwrap();
    let count = |message| {
        rendered.sources.iter().filter(|(s, _)| **s == Source::Message(message)).map(|s| s.1).sum::<usize>()
    };
    assert_eq!((count(0), count(1)), (1, 1));
}

/// Some templates leave out what an assistant says beside its calls, or the calls.
#[test]
fn a_turn_is_cut_after_whatever_the_template_shows_of_it() {
    let calls_only = CHAT.replace(
        "{{ m.content }}",
        "{% if m.tool_calls %}{{ m.tool_calls | tojson(ensure_ascii=true) }}{% else %}{{ m.content }}{% endif %}",
    );
    let mut message = Message::new(Role::Assistant, "said");
    let arguments = Arguments::Text("not json".to_owned());
    message.tool_calls.push(ToolCall { id: Some("c".into()), name: "f".into(), arguments });
    for template in [CHAT, &calls_only] {
        let family = templated(template).unwrap();
        assert_eq!(family.warnings(), &[] as &[String]);
        let junction = Junction { sampled: family.stop_ids(), message: &message };
        let extended =
            family.extend(scene(&Setup::default()), junction, &[Message::new(Role::Tool, "r")]).unwrap();
        let expected = "\n<|im_start|>tool\nr<|im_end|>\n<|im_start|>assistant\n";
        assert_eq!(QWEN3.spell(&extended.ids), expected);
        assert_eq!(extended.sources.iter().filter(|(source, _)| **source == Source::Message(0)).count(), 1);
    }
}

#[test]
fn a_turn_that_did_not_end_is_ended_with_what_the_template_puts_before_its_end() {
    let spaced = CHAT.replace("{{ m.content }}", "{{ m.content }} ");
    let options =
        Options { template: Some(spaced), stop_tokens: vec!["<|endoftext|>".into()], ..Options::default() };
    let family = load_with("default", Arc::clone(&QWEN3.tokenizer), &options).unwrap();
    let [end, other] = family.stop_ids() else { panic!("two stop tokens") };
    let extend = |sampled: &[TokenId]| {
        let message = Message::new(Role::Assistant, "a");
        let extended =
            family.extend(scene(&Setup::default()), Junction { sampled, message: &message }, &[]).unwrap();
        (QWEN3.spell(&extended.ids), extended.repair)
    };
    assert_eq!(extend(&[*end]), ("\n<|im_start|>assistant\n".into(), None));
    assert_eq!(extend(&[]), (" <|im_end|>\n<|im_start|>assistant\n".into(), Some(Repair::EndAdded)));
    assert_eq!(
        extend(&[*other]),
        (" <|im_end|>\n<|im_start|>assistant\n".into(), Some(Repair::OtherStop(*other)))
    );
}

#[test]
fn a_template_whose_turns_depend_on_the_rest_is_refused() {
    let numbered = CHAT.replace("{{ m.role }}", "{{ m.role }} {{ loop.index }}");
    let error = templated(&numbered).err().unwrap();
    assert!(
        matches!(&error, FamilyError::Unstable { reason } if reason.contains("simple_no_tool") || reason.contains("multi_turn")),
        "{error}"
    );
    let silent = "{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}";
    assert!(templated(silent).err().unwrap().to_string().contains("leaves out what an assistant says"));
    let error = templated("{% if %}").err().unwrap();
    assert!(error.to_string().contains("does not compile"), "{error}");
    let error = load("default", Arc::clone(&QWEN3.tokenizer), None, &Map::new()).err().unwrap();
    assert!(error.to_string().contains("needs a chat template"), "{error}");
}

#[test]
fn shapes_that_a_template_refuses_are_named() {
    let strict = format!(
        "{{% for m in messages %}}{{% if m.role == 'tool' %}}{{{{ raise_exception('no tools') }}}}{{% endif %}}{{% endfor %}}{CHAT}"
    );
    let family = templated(&strict).unwrap();
    assert!(
        family.warnings().iter().any(|w| w.starts_with("single_tool: ") && w.contains("no tools")),
        "{:?}",
        family.warnings()
    );
}

/// GLM's way: a turn has no end of its own, the next opener stops the model.
#[test]
fn where_openers_end_turns_the_sampled_one_stays_or_makes_way() {
    let template = "{% for m in messages %}{{ {'user': '<|box_start|>', 'assistant': '<|box_end|>', 'tool': '<|quad_start|>', 'system': '<|quad_end|>'}[m.role] }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|box_end|>{% endif %}";
    let stop_tokens = vec!["<|box_start|>".to_owned(), "<|quad_start|>".to_owned()];
    let options = Options { template: Some(template.to_owned()), stop_tokens, ..Options::default() };
    let family = load_with("default", Arc::clone(&QWEN3.tokenizer), &options).unwrap();
    assert_eq!((family.max_trim(), family.warnings().len()), (1, 0));
    let setup = Setup::default();
    let [user_opens, tool_opens] = family.stop_ids() else { panic!("two stop tokens") };
    let message = Message::new(Role::Assistant, "a");
    let extend = |sampled: &[TokenId]| {
        let extended =
            family.extend(scene(&setup), Junction { sampled, message: &message }, &[user("b")]).unwrap();
        assert_eq!(extended.sources.len(), extended.ids.len());
        (extended.trim, QWEN3.spell(&extended.ids))
    };
    assert_eq!(extend(&[*user_opens]), (0, "b<|box_end|>".into()));
    assert_eq!(extend(&[*tool_opens]), (1, "<|box_start|>b<|box_end|>".into()));
    assert_eq!(extend(&[]), (0, "<|box_start|>b<|box_end|>".into()));
    let ids = family.reply(scene(&setup), StartState::Content, &message).unwrap();
    assert_eq!(QWEN3.spell(&ids), "a<|box_start|>");
}

#[test]
fn a_prompt_that_opens_a_think_block_says_so() {
    let template = format!("{CHAT}{{% if add_generation_prompt %}}<think>\n{{% endif %}}");
    let start = |parser: Option<&str>| {
        let options = Options {
            template: Some(template.clone()),
            reasoning_parser: parser.map(str::to_owned),
            ..Options::default()
        };
        let family = load_with("default", Arc::clone(&QWEN3.tokenizer), &options).unwrap();
        family.open(scene(&Setup::default()), &[user("u")]).unwrap().start
    };
    assert_eq!(
        (start(Some("qwen3")), start(Some("none")), start(None)),
        (StartState::Reasoning, StartState::Content, StartState::Content)
    );
}

/// SGLang has several names for some formats.
#[test]
fn other_names_of_a_format_are_known() {
    let read = |reasoning: &str, calls: &str, text: &str| {
        let options = Options {
            template: Some(CHAT.to_owned()),
            reasoning_parser: Some(reasoning.to_owned()),
            tool_call_parser: Some(calls.to_owned()),
            ..Options::default()
        };
        let family = load_with("default", Arc::clone(&QWEN3.tokenizer), &options).unwrap();
        let setup = Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() };
        let start = family.open(scene(&setup), &[Message::new(Role::User, "U")]).unwrap().start;
        let mut parser = family.parser(scene(&setup), start, "call_");
        parser.push(&QWEN3.ids(text), &mut Vec::new());
        parser.finish(&mut Vec::new()).message
    };
    for name in ["minimax-append-think", "step3p5", "gigachat35"] {
        let message =
            read(name, "step3p5", "R\n</think>\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>");
        assert_eq!((message.reasoning.as_deref(), message.tool_calls.len()), (Some("R"), 1), "{name}");
    }
    for name in ["dots", "nanbeige"] {
        let message = read(name, "nanbeige", "<think>\nR\n</think>\n\nA");
        assert_eq!(
            (message.reasoning.as_deref(), message.content.text().as_ref()),
            (Some("R"), "A"),
            "{name}"
        );
    }
}

#[test]
fn parsers_and_tokens_are_looked_up_by_name() {
    let try_with = |options: Options| {
        load_with(
            "default",
            Arc::clone(&QWEN3.tokenizer),
            &Options { template: Some(CHAT.to_owned()), ..options },
        )
        .err()
        .unwrap()
        .to_string()
    };
    let error = try_with(Options { tool_call_parser: Some("qwen4".into()), ..Options::default() });
    assert!(error.starts_with("unknown tool call parser \"qwen4\"; use one of: none, hermes, qwen, qwen25"));
    let error = try_with(Options { reasoning_parser: Some("x".into()), ..Options::default() });
    assert!(error.contains("none, qwen3"), "{error}");
    let error = try_with(Options { stop_tokens: vec!["</s>".into()], ..Options::default() });
    assert!(error.contains("</s>"), "{error}");
}
