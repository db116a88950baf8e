//! Vocabularies in tiktoken's format, against tiktoken itself.

use std::collections::BTreeMap;
use std::fmt::Write;

use verbatim_tokenizer::{HfTokenizer, Tokenizer};
use verbatim_tokens::TokenId;

use crate::vocabularies::read;

const CONFIG: &str = r#"{"added_tokens_decoder": {
    "20000": {"content": "[BOS]", "special": true}, "20002": {"content": "<|im_end|>", "special": true},
    "20010": {"content": "<think>", "special": false}}}"#;

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| (bits << 8) | usize::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * at)) & 63]);
            out.push(if at > chunk.len() { '=' } else { digit });
        }
    }
    out
}

/// The shortened vocabulary as a file of ranks.
fn ranks() -> String {
    let whole = HfTokenizer::from_json(&read("surrogate", "tokenizer.json")).unwrap();
    let mut out = String::new();
    for id in 0..20_000 {
        writeln!(out, "{} {id}", base64(whole.bytes(TokenId(id)))).unwrap();
    }
    out
}

#[test]
fn ids_are_those_of_tiktoken() {
    let tokenizer = HfTokenizer::from_tiktoken(ranks().as_bytes(), CONFIG.as_bytes()).unwrap();
    let path = format!("{}/tests/goldens/tiktoken.jsonl", env!("CARGO_MANIFEST_DIR"));
    let goldens = std::fs::read_to_string(path).unwrap();
    let mut count = 0;
    for line in goldens.lines() {
        let (text, expected): (String, Vec<u32>) = serde_json::from_str(line).unwrap();
        let mut ids = Vec::new();
        tokenizer.encode(&text, &mut ids);
        assert_eq!(TokenId::raw(&ids), expected, "{text:?}");
        assert_eq!(tokenizer.text(&ids), text);
        count += 1;
    }
    assert!(count >= 300, "{count}");
}

#[test]
fn added_tokens_are_named_or_reserved() {
    let tokenizer = HfTokenizer::from_tiktoken(ranks().as_bytes(), CONFIG.as_bytes()).unwrap();
    assert_eq!(tokenizer.vocabulary(), 20_256);
    let added: BTreeMap<u32, (String, bool)> =
        tokenizer.added().into_iter().map(|added| (added.id.0, (added.spelling, added.control))).collect();
    assert_eq!(added.len(), 256);
    assert_eq!(added[&20_002], ("<|im_end|>".to_owned(), true));
    assert_eq!(added[&20_010], ("<think>".to_owned(), false));
    assert_eq!(added[&20_255], ("<|reserved_token_20255|>".to_owned(), true));
    assert_eq!(tokenizer.special("[BOS]"), Some(TokenId(20_000)));
    let mut ids = Vec::new();
    tokenizer.encode("[BOS]<|im_end|><think>", &mut ids);
    assert!(ids.iter().all(|id| !tokenizer.is_special(*id)));
    assert_eq!(tokenizer.text(&ids), "[BOS]<|im_end|><think>");
}

#[test]
fn what_is_no_vocabulary_is_refused_by_line() {
    let error = |ranks: &str, config: &str| {
        HfTokenizer::from_tiktoken(ranks.as_bytes(), config.as_bytes()).unwrap_err().to_string()
    };
    for broken in
        ["IQ== 0\nIg== 2\n", "IQ== 0\nIg==\n", "IQ== 0\n?g== 1\n", "IQ== 0\nIg= 1\n", "IQ== 0\n 1\n"]
    {
        assert!(error(broken, "{}").contains("line 2 of the tiktoken file"), "{broken:?}");
    }
    let config = r#"{"added_tokens_decoder": {"7000": {"content": "x"}}}"#;
    assert!(error("IQ== 0\n", config).contains("added_tokens_decoder.7000: added tokens have ids 1 to 256"));
    assert!(error("IQ== 0\n", "[").contains("tokenizer_config.json"));
}
