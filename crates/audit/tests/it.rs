//! What the comparator promises, over Qwen3's own vocabulary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own functions may fail as its test does")]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use serde_json::{Map, json};
use verbatim_audit::{Cause, Comparator, Kind, canonical};
use verbatim_chat::{Arguments, Message, Role, Setup, ToolCall};
use verbatim_families::{Family, Scene, load};
use verbatim_tokenizer::{HfTokenizer, Piece, SpecialSplitter};
use verbatim_tokens::TokenId;

fn load_with(name: &str, vocabulary: &str) -> Arc<dyn Family> {
    let home = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache")), PathBuf::from);
    let path = home.join("assets").join(vocabulary).join("tokenizer.json");
    let json = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `python3 tools/fetch.py {vocabulary}`", path.display())
    });
    load(name, Arc::new(HfTokenizer::from_json(&json).unwrap()), None, &Map::new()).unwrap()
}

fn family() -> Arc<dyn Family> {
    static FAMILY: OnceLock<Arc<dyn Family>> = OnceLock::new();
    Arc::clone(FAMILY.get_or_init(|| load_with("qwen3", "tokenizer-qwen3")))
}

/// The ids of text that spells its special tokens.
fn ids(text: &str) -> Vec<TokenId> {
    spelt(&*family(), text)
}

fn spelt(family: &dyn Family, text: &str) -> Vec<TokenId> {
    let mut ids = Vec::new();
    for piece in SpecialSplitter::new(&**family.tokenizer(), |_| true).split(text) {
        match piece {
            Piece::Text(text) => family.tokenizer().encode(text, &mut ids),
            Piece::Special(id) => ids.push(id),
        }
    }
    ids
}

fn turn(role: &str, text: &str) -> String {
    format!("<|im_start|>{role}\n{text}<|im_end|>\n")
}

/// The kinds that Miles' comparator finds, and all kinds with their causes.
fn found(expected: &str, actual: &str) -> (Vec<Kind>, Vec<(Kind, Cause)>) {
    let comparator = Comparator::of(&*family());
    let (expected, actual) = (ids(expected), ids(actual));
    let plain = comparator.compare(&expected, &actual).iter().map(|found| found.kind).collect();
    let explained = comparator.explain(&expected, &actual);
    (plain, explained.iter().map(|found| (found.mismatch.kind, found.cause)).collect())
}

fn one(expected: &str, actual: &str, kind: Kind, cause: Cause) {
    assert_eq!(found(expected, actual), (vec![kind], vec![(kind, cause)]), "{expected:?} {actual:?}");
}

#[test]
fn what_is_kept_as_it_is_rendered_has_no_mismatch_and_a_newline_at_the_end_is_none() {
    let talk = turn("user", "Hi") + &turn("assistant", "Ho");
    assert_eq!(found(&talk, &talk), (vec![], vec![]));
    assert_eq!(found(&talk, talk.trim_end()), (vec![], vec![]));
}

#[test]
fn a_mismatch_has_exactly_the_keys_of_miles() {
    let comparator = Comparator::of(&*family());
    let found = comparator.compare(&ids(&turn("user", "Hi")), &ids(&turn("user", "Ho")));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(
        json,
        json!([{
            "type": "non_assistant_text",
            "segment_index": 1,
            "expected_text": "user\nHi",
            "actual_text": "user\nHo",
            "detail": "a text that is no assistant's differs",
        }])
    );
}

#[test]
fn another_structure_is_one_mismatch_that_hides_the_rest_and_shows_both_sketches() {
    let comparator = Comparator::of(&*family());
    let expected = ids(&(turn("user", "Hi") + &turn("assistant", "Ho")));
    let found = comparator.compare(&expected, &ids(&turn("user", "Other")));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].segment_index), (Kind::SpecialTokenCount, -1));
    assert!(found[0].actual_text.starts_with("[<|im_start|>] ("), "{}", found[0].actual_text);
}

#[test]
fn the_assistants_words_are_told_from_the_others() {
    let said = |text: &str| turn("user", "Hi") + &turn("assistant", text);
    one(&said("one"), &said("two"), Kind::AssistantText, Cause::HarnessRewrite);
    one(
        &(turn("system", "a") + &said("x")),
        &(turn("system", "b") + &said("x")),
        Kind::NonAssistantText,
        Cause::HarnessRewrite,
    );
    assert!(Kind::NonAssistantText.is_hard() && !Kind::AssistantText.is_hard());
}

#[test]
fn each_cause_is_named() {
    let said = |text: &str| turn("user", "Hi") + &turn("assistant", text);
    let call = |arguments: &str| said(&format!("<tool_call>\n{arguments}\n</tool_call>"));
    one(&said("\n\nHo"), &said("Ho"), Kind::AssistantText, Cause::Template);
    one(
        &call(r#"{"name": "f", "arguments": {"a": 1, "b": "é"}}"#),
        &call(r#"{"name":"f", "arguments": {"b": "\u00e9", "a":1}}"#),
        Kind::AssistantText,
        Cause::ArgumentBytes,
    );
    one(&said("Ho"), &said("<think>\nhm\n</think>\n\nHo"), Kind::AssistantText, Cause::StrippedReasoning);
    let ended = said("Ho").replace("Ho<|im_end|>", "Ho<|endoftext|>");
    one(&said("Ho"), &ended, Kind::SpecialTokenType, Cause::StopToken);
    let twice = said("Ho").replace("Ho<|im_end|>", "Ho<|endoftext|><|im_end|>");
    one(&said("Ho"), &twice, Kind::SpecialTokenCount, Cause::StopToken);
}

#[test]
fn the_same_text_in_other_ids_is_told_by_explain_alone() {
    let comparator = Comparator::of(&*family());
    let split = [ids("<|im_start|>user\nhel"), ids("lo<|im_end|>")].concat();
    let whole = ids("<|im_start|>user\nhello<|im_end|>");
    assert_ne!(split, whole);
    assert_eq!(comparator.compare(&whole, &split), vec![]);
    let explained = comparator.explain(&whole, &split);
    assert_eq!(explained.len(), 1);
    assert_eq!((explained[0].mismatch.kind, explained[0].cause), (Kind::Retokenised, Cause::Bpe));
}

#[test]
fn a_sampled_session_is_its_own_canonical_render() {
    let family = family();
    let setup = Setup::default();
    let scene = Scene { setup: &setup, opened: 0 };
    let call =
        ToolCall { id: Some("c".into()), name: "f".into(), arguments: Arguments::Json(json!({"a": 1})) };
    let calls = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") };
    let mut talk = vec![Message::new(Role::User, "Hi")];
    let prompt = family.open(scene, &talk).unwrap();
    let mut kept = prompt.ids;
    kept.extend(family.reply(scene, prompt.start, &calls).unwrap());
    talk.push(calls);
    let comparator = Comparator::of(&*family);
    assert_eq!(comparator.compare(&canonical(&*family, scene, &talk).unwrap(), &kept), vec![]);
}

/// What differs between two texts of a family.
fn differs(family: &dyn Family, expected: &str, actual: &str) -> Vec<Kind> {
    let found = Comparator::of(family).compare(&spelt(family, expected), &spelt(family, actual));
    found.iter().map(|found| found.kind).collect()
}

#[test]
fn a_harmony_answer_may_end_in_either_token_and_its_header_is_text_of_the_assistant() {
    let family = load_with("gptoss", "tokenizer-gptoss");
    let talk =
        |user: &str, said: &str| format!("<|start|>user<|message|>{user}<|end|><|start|>assistant{said}");
    let answer = talk("Hi", "<|channel|>final<|message|>Ho");
    let differ = |expected: &str, actual: &str| differs(&*family, expected, actual);
    assert_eq!(differ(&format!("{answer}<|end|>"), &format!("{answer}<|return|>")), vec![]);
    let call = |header: &str| talk("Hi", &format!("{header}<|message|>{{}}<|call|>"));
    let (history, sampled) =
        (" to=functions.f<|channel|>commentary json", "<|channel|>commentary to=functions.f json");
    assert_eq!(differ(&call(history), &call(sampled)), vec![Kind::AssistantText]);
    let other = talk("Hey", "<|channel|>final<|message|>Ho");
    assert_eq!(differ(&answer, &other), vec![Kind::NonAssistantText]);
}

#[test]
fn gemmas_assistant_is_the_model() {
    let family = load_with("gemma3", "tokenizer-gemma3");
    let turn = |role: &str, text: &str| format!("<start_of_turn>{role}\n{text}<end_of_turn>\n");
    let talk = |user: &str, said: &str| format!("<bos>{}{}", turn("user", user), turn("model", said));
    assert_eq!(differs(&*family, &talk("Hi", "Ho"), &talk("Hi", "Ha")), vec![Kind::AssistantText]);
    assert_eq!(differs(&*family, &talk("Hi", "Ho"), &talk("Hey", "Ho")), vec![Kind::NonAssistantText]);
    assert_eq!(differs(&*family, &talk("Hi", "Ho"), talk("Hi", "Ho").trim_end()), vec![]);
}

proptest! {
    /// Any two runs of ids compare without a panic; equal ones are equal; what `compare` says is
    /// among what `explain` says.
    #[test]
    fn any_ids_compare(a in any_ids(), b in any_ids()) {
        let comparator = Comparator::of(&*family());
        prop_assert!(comparator.explain(&a, &a).is_empty());
        let plain = comparator.compare(&a, &b);
        let explained = comparator.explain(&a, &b);
        let kept: Vec<_> = explained.into_iter().map(|found| found.mismatch)
            .filter(|found| found.kind != Kind::Retokenised).collect();
        prop_assert_eq!(plain, kept);
    }
}

fn any_ids() -> impl Strategy<Value = Vec<TokenId>> {
    let id = prop_oneof![0..300_u32, 151_640..151_680_u32, Just(198_u32)];
    proptest::collection::vec(id.prop_map(TokenId), 0..40)
}
