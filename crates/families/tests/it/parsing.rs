//! Parsing what models write.

use serde_json::json;
use verbatim_chat::{Message, Setup, StartState, Tool};
use verbatim_families::{Flaw, Parsed, Part};
use verbatim_tokens::TokenId;

use crate::assets::{Model, QWEN3, QWEN25, SMOLLM2, models};
use crate::goldens::scene;

fn with_tools() -> Setup {
    Setup { tools: vec![Tool(json!({"name": "f"}))], ..Setup::default() }
}

/// The ids of a model's output, written as text.
fn ids(model: &Model, text: &str) -> Vec<TokenId> {
    model.ids(text)
}

/// Parses ids in pieces of the given lengths; parts of one kind that follow one another are joined.
pub(crate) fn parse(
    model: &Model,
    setup: &Setup,
    start: StartState,
    ids: &[TokenId],
    pieces: &[usize],
) -> (Vec<Part>, Parsed) {
    let mut parser = model.family.parser(scene(setup), start, "call_");
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = ids;
    let mut step = |rest: &[TokenId], count: usize| {
        let mut out = Vec::new();
        parser.push(&rest[..count], &mut out);
        join(&mut parts, out);
    };
    for piece in pieces {
        let count = (*piece).min(rest.len());
        step(rest, count);
        rest = &rest[count..];
    }
    step(rest, rest.len());
    let mut out = Vec::new();
    let parsed = parser.finish(&mut out);
    join(&mut parts, out);
    (parts, parsed)
}

fn join(parts: &mut Vec<Part>, more: Vec<Part>) {
    for part in more {
        match (parts.last_mut(), part) {
            (Some(Part::Content(last)), Part::Content(text)) => last.push_str(&text),
            (Some(Part::Reasoning(last)), Part::Reasoning(text)) => last.push_str(&text),
            (_, part) => parts.push(part),
        }
    }
}

/// The message that the parts add up to.
pub(crate) fn added_up(parts: &[Part]) -> (String, String, Vec<(String, String, String)>) {
    let (mut reasoning, mut content, mut calls) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Reasoning(text) => reasoning.push_str(text),
            Part::Content(text) => content.push_str(text),
            Part::CallStarted { index, id, name } => {
                assert_eq!(*index, calls.len());
                calls.push((id.clone(), name.clone(), String::new()));
            }
            Part::CallArguments { index, text } => calls[*index].2.push_str(text),
            Part::CallEnded { index } => assert_eq!(index + 1, calls.len()),
        }
    }
    (reasoning, content, calls)
}

pub(crate) fn told_message(message: &Message) -> (String, String, Vec<(String, String, String)>) {
    let calls = message.tool_calls.iter();
    let calls =
        calls.map(|c| (c.id.clone().unwrap_or_default(), c.name.clone(), c.arguments.text().into_owned()));
    (message.reasoning.clone().unwrap_or_default(), message.content.text().into_owned(), calls.collect())
}

/// What a turn parses to: reasoning, content, calls as `name arguments`, flaws.
fn read(model: &Model, text: &str) -> (String, String, Vec<String>, Vec<Flaw>) {
    let (parts, parsed) = parse(model, &with_tools(), StartState::Content, &ids(model, text), &[]);
    assert_eq!(added_up(&parts), told_message(&parsed.message));
    let (reasoning, content, calls) = told_message(&parsed.message);
    let calls = calls.into_iter().enumerate().map(|(at, (id, name, arguments))| {
        assert_eq!(id, format!("call_{at}"));
        format!("{name} {arguments}")
    });
    (reasoning, content, calls.collect(), parsed.flaws)
}

fn owned(calls: &[&str]) -> Vec<String> {
    calls.iter().map(|call| (*call).to_owned()).collect()
}

#[test]
fn reasoning_content_and_calls_lose_the_templates_newlines_only() {
    let turn = "<think>\n\nr\n\n</think>\n\n\na\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\":  1e5}}\n</tool_call>\n<tool_call>\n{\"arguments\": {}, \"name\": \"g\"}\n</tool_call><|im_end|>";
    let (reasoning, content, calls, flaws) = read(&QWEN3, turn);
    assert_eq!((reasoning.as_str(), content.as_str()), ("\nr\n", "\na"));
    assert_eq!((calls, flaws), (owned(&["f {\"x\":  1e5}", "g {}"]), vec![]));
}

#[test]
fn text_around_calls_is_kept() {
    for model in models() {
        let (_, content, calls, _) = read(
            model,
            "before\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> between <tool_call>{\"name\":\"f\"}</tool_call>\nafter\n<|im_end|>",
        );
        assert_eq!(
            (content.as_str(), calls),
            ("before\n between \nafter\n", owned(&["f {}", "f {}"])),
            "{}",
            model.name
        );
    }
}

#[test]
fn a_closing_mark_inside_a_string_does_not_end_the_call() {
    for model in models() {
        let arguments = r#"{"c": "</tool_call> \" <tool_call>\\"}"#;
        let turn = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {arguments}}}\n</tool_call>");
        let (_, content, calls, flaws) = read(model, &turn);
        assert_eq!(
            (content.as_str(), calls, flaws),
            ("", vec![format!("f {arguments}")], vec![]),
            "{}",
            model.name
        );
    }
}

#[test]
fn what_is_no_call_is_content() {
    for model in models() {
        for broken in [
            "x\n<tool_call>\n{\"name\": f}\n</tool_call>",
            "<tool_call></tool_call>",
            "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>\n",
            "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
            "<tool_call>{\"name\": \"f\", \"arguments\": {}} {}</tool_call>",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\n\"}}</tool_call>",
        ] {
            let (_, content, calls, flaws) = read(model, broken);
            assert_eq!(
                (content.as_str(), calls, flaws),
                (broken, vec![], vec![Flaw::CallMalformed]),
                "{}",
                model.name
            );
        }
    }
}

#[test]
fn a_call_that_never_ends_is_content() {
    for model in models() {
        let (_, content, calls, flaws) =
            read(model, "so\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n");
        assert_eq!(content, "so\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n");
        assert_eq!((calls, flaws), (vec![], vec![Flaw::CallOpen]));
    }
}

#[test]
fn after_a_string_that_never_closes_the_rest_is_still_read() {
    for model in models() {
        let (_, content, calls, flaws) = read(
            model,
            "<tool_call>{\"name\": \"f}</tool_call> and <tool_call>{\"name\": \\\"g\\\"}</tool_call>",
        );
        assert_eq!(
            content,
            "<tool_call>{\"name\": \"f}</tool_call> and <tool_call>{\"name\": \\\"g\\\"}</tool_call>"
        );
        assert_eq!((calls, flaws), (vec![], vec![Flaw::CallMalformed, Flaw::CallMalformed]));
    }
}

#[test]
fn a_call_that_begins_inside_another_replaces_it() {
    let (_, content, calls, flaws) =
        read(&QWEN25, "<tool_call>{\"name\": <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>");
    assert_eq!(
        (content.as_str(), calls, flaws),
        ("<tool_call>{\"name\": ", owned(&["f {}"]), vec![Flaw::CallMalformed])
    );
}

#[test]
fn an_open_think_block_is_unfinished_reasoning() {
    let (reasoning, content, calls, flaws) = read(&QWEN3, "<think>\nfirst <tool_call>{}</tool_call>\n");
    assert_eq!((reasoning.as_str(), content.as_str()), ("first <tool_call>{}</tool_call>\n", ""));
    assert_eq!((calls, flaws), (vec![], vec![Flaw::ReasoningOpen]));
}

#[test]
fn a_think_block_opens_a_turn_or_is_text() {
    let (reasoning, content, ..) = read(&QWEN3, "a<think>b</think>c");
    assert_eq!((reasoning.as_str(), content.as_str()), ("", "a<think>b</think>c"));
    let (reasoning, content, ..) = read(&QWEN3, "<think>b</think>c<think>d</think>");
    assert_eq!((reasoning.as_str(), content.as_str()), ("b", "c<think>d</think>"));
    let (reasoning, content, ..) = read(&QWEN25, "<think>b</think>c");
    assert_eq!((reasoning.as_str(), content.as_str()), ("", "<think>b</think>c"));
}

#[test]
fn text_that_spells_a_mark_is_no_mark_where_marks_are_tokens() {
    let mut spelled = Vec::new();
    QWEN3.tokenizer.encode("<think>a</think><tool_call>{\"name\": \"f\"}</tool_call>", &mut spelled);
    let (_, parsed) = parse(&QWEN3, &with_tools(), StartState::Content, &spelled, &[]);
    assert_eq!(parsed.message.content.text(), "<think>a</think><tool_call>{\"name\": \"f\"}</tool_call>");
    assert!(parsed.message.tool_calls.is_empty() && parsed.flaws.is_empty());
}

#[test]
fn parts_that_were_told_are_never_changed() {
    let mut parser = QWEN3.family.parser(scene(&Setup::default()), StartState::Content, "");
    let mut out = Vec::new();
    for id in ids(&QWEN3, "<think>\na b</think>\n\nc d e\n") {
        let told = out.clone();
        parser.push(&[id], &mut out);
        assert_eq!(out[..told.len()], told);
    }
    let told = out.clone();
    let parsed = parser.finish(&mut out);
    assert_eq!(out[..told.len()], told);
    assert_eq!(added_up(&out), told_message(&parsed.message));
}

#[test]
fn without_declared_tools_nothing_is_a_call() {
    for model in [&QWEN3, &SMOLLM2] {
        let turn = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
        let (_, parsed) = parse(model, &Setup::default(), StartState::Content, &ids(model, turn), &[]);
        assert_eq!((parsed.message.content.text().as_ref(), parsed.flaws.len()), (turn, 0));
    }
}
