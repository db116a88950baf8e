//! Text never becomes a control token, and its ids spell it.

use std::sync::OnceLock;

use proptest::prelude::*;
use verbatim_tokenizer::{HfTokenizer, Tokenizer};
use verbatim_tokens::TokenId;

use crate::vocabularies::{qwen3, qwen25};

fn spell(tokenizer: &HfTokenizer, ids: &[TokenId]) -> Vec<u8> {
    ids.iter().flat_map(|id| tokenizer.bytes(*id).iter().copied()).collect()
}

#[test]
fn every_special_spelling_is_text_when_it_is_text() {
    for tokenizer in [qwen3(), qwen25()] {
        assert!(tokenizer.added().len() >= 22);
        for added in tokenizer.added() {
            let text = format!("a {} b", added.spelling);
            let mut ids = Vec::new();
            tokenizer.encode(&text, &mut ids);
            assert!(ids.iter().all(|id| !tokenizer.is_special(*id)), "{text}");
            assert_eq!(spell(tokenizer, &ids), text.as_bytes());
            assert_eq!(tokenizer.special(&added.spelling), Some(added.id));
            assert_eq!(tokenizer.bytes(added.id), added.spelling.as_bytes());
        }
    }
}

#[test]
fn the_vocabulary_is_as_large_as_it_is_known_to_be() {
    assert_eq!((qwen3().vocabulary(), qwen25().vocabulary()), (151_669, 151_665));
    assert_eq!(qwen3().special("<|im_end|>"), Some(TokenId(151_645)));
    assert!(qwen3().added().iter().all(|t| t.control == t.spelling.starts_with("<|")
        && !t.spelling.contains("fim")
        || t.id.0 >= 151_657));
    assert!(qwen3().bytes(TokenId(151_669)).is_empty() && qwen3().special("<|nothing|>").is_none());
}

#[test]
fn a_vocabulary_that_holds_its_control_tokens_itself_does_not_yield_them_for_text() {
    let tokenizer = HfTokenizer::from_json(
        br#"{"model": {"type": "BPE", "ignore_merges": true, "vocab": {"<": 0, "s": 1, ">": 2, "<s>": 3}, "merges": []},
            "added_tokens": [{"id": 3, "content": "<s>", "special": true}]}"#,
    )
    .unwrap();
    let mut ids = Vec::new();
    tokenizer.encode("<s>", &mut ids);
    assert_eq!(TokenId::raw(&ids), [0, 1, 2]);
}

#[test]
fn bytes_that_a_vocabulary_lacks_are_dropped_as_the_released_library_drops_them() {
    let json = br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}}"#;
    let tokenizer = HfTokenizer::from_json(json).unwrap();
    let released: reference::Tokenizer = String::from_utf8_lossy(json).parse().unwrap();
    for text in ["ab", "abé", "a\u{4}b", "xaby"] {
        let mut ids = Vec::new();
        tokenizer.encode(text, &mut ids);
        assert_eq!(TokenId::raw(&ids), released.encode(text, false).unwrap().get_ids(), "{text:?}");
    }
    assert_eq!(tokenizer.vocabulary(), 3);
}

#[test]
fn sentencepiece_spellings_are_their_bytes() {
    let entries: Vec<String> = (0..256).map(|byte| format!(r#""<0x{byte:02X}>": {byte}"#)).collect();
    let json = format!(
        r#"{{"model": {{"type": "BPE", "byte_fallback": true, "vocab": {{{}, "\u2581a": 256, "<unk>": 257}},
            "merges": [], "unk_token": "<unk>"}},
            "decoder": {{"type": "Sequence", "decoders": [{{"type": "ByteFallback"}}, {{"type": "Fuse"}}]}}}}"#,
        entries.join(", ")
    );
    let tokenizer = HfTokenizer::from_json(json.as_bytes()).unwrap();
    assert_eq!((tokenizer.bytes(TokenId(10)), tokenizer.bytes(TokenId(256))), (&b"\n"[..], &b" a"[..]));
}

#[test]
fn what_is_no_tokenizer_is_refused_in_words() {
    for (bytes, said) in [
        (&b"[]"[..], "tokenizer file cannot be read"),
        (b"{", "tokenizer file cannot be read"),
        (b"{\"model\": {}}", "vocabulary is broken"),
        (b"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}", "cannot be built"),
    ] {
        let error = HfTokenizer::from_json(bytes).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// Every spelling of a special token of Qwen3, to be mixed into text.
fn spellings() -> &'static [String] {
    static ONCE: OnceLock<Vec<String>> = OnceLock::new();
    ONCE.get_or_init(|| qwen3().added().into_iter().map(|added| added.spelling).collect())
}

proptest! {
    #[test]
    fn no_text_yields_a_special_token(parts in prop::collection::vec((0usize..26, "\\PC{0,4}"), 0..8)) {
        let text: String = parts.iter().map(|(at, plain)| format!("{plain}{}", spellings()[*at])).collect();
        let mut ids = Vec::new();
        qwen3().encode(&text, &mut ids);
        prop_assert!(ids.iter().all(|id| !qwen3().is_special(*id)));
    }
}

/// A pattern for which the library has no scanner is cut by ours, and one that is none is refused at
/// once: a text would else come out as single bytes.
#[test]
fn a_pattern_without_a_scanner_is_cut_or_refused() {
    let load = |pattern: &str, normalizer: &str| {
        let split = serde_json::json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        let level = serde_json::json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
        let root = serde_json::json!({
            "normalizer": {"type": normalizer},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "decoder": level,
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "aa": 3, "aab": 4}, "merges": [["a", "b"], ["a", "a"]]},
        });
        HfTokenizer::from_json(root.to_string().as_bytes())
    };
    let mut ids = Vec::new();
    load("a+|b", "NFC").unwrap().encode("aab", &mut ids);
    assert_eq!(ids, [TokenId(3), TokenId(1)]);
    for (pattern, normalizer, what) in [("a(", "NFC", "a("), ("a+|b", "Lowercase", "Lowercase")] {
        let error = load(pattern, normalizer).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
