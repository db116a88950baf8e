//! Ids against the released library, whose next version we run.

use std::sync::OnceLock;

use proptest::prelude::*;
use verbatim_tokenizer::{HfTokenizer, Tokenizer};
use verbatim_tokens::TokenId;

use crate::vocabularies::read;

/// The released library over the same vocabulary, its added tokens taken away as ours are, but for
/// those that are words.
fn reference(name: &str) -> reference::Tokenizer {
    let mut root: serde_json::Value = serde_json::from_slice(&read(name, "tokenizer.json")).unwrap();
    let ours = HfTokenizer::from_json(&read(name, "tokenizer.json")).unwrap();
    let added = root["added_tokens"].as_array_mut().unwrap();
    added.retain(|token| ours.special(token["content"].as_str().unwrap()).is_none());
    root.to_string().parse().unwrap()
}

type Pair = (&'static HfTokenizer, reference::Tokenizer);

fn pair(name: &str) -> Pair {
    let ours = HfTokenizer::from_json(&read(name, "tokenizer.json")).unwrap();
    (Box::leak(Box::new(ours)), reference(name))
}

fn pairs() -> &'static [Pair] {
    static ONCE: OnceLock<Vec<Pair>> = OnceLock::new();
    ONCE.get_or_init(|| ["tokenizer-qwen3", "tokenizer-qwen25"].map(pair).into())
}

fn agree(text: &str) {
    pairs().iter().for_each(|pair| agrees(pair, text));
}

fn agrees((ours, theirs): &Pair, text: &str) {
    let mut ids = Vec::new();
    ours.encode(text, &mut ids);
    let expected = theirs.encode(text, false).unwrap();
    assert_eq!(TokenId::raw(&ids), expected.get_ids(), "{text:?}");
}

/// A pattern that the library has no scanner for, and a vocabulary of SentencePiece's.
#[test]
fn a_pattern_of_its_own_and_words_give_the_same_ids() {
    for pair in ["tokenizer-qwen35", "tokenizer-gemma3"].map(pair) {
        CORPUS.iter().for_each(|text| agrees(&pair, text));
        agrees(&pair, include_str!("differential.rs"));
    }
}

/// Ordinary text of several kinds, and what breaks tokenizers.
const CORPUS: &[&str] = &[
    "",
    " ",
    "\n",
    "\n\n\n  \n\t\n",
    "  leading, trailing  ",
    "Hello world! It's don't WE'LL they'd",
    "fn main() {\n    let x = 1_000.5e-7; // comment\n\t\tprintln!(\"{x:?}\");\r\n}\r\n",
    "def f(a: int = 3) -> str:\n    return f'{a!r}'  # noqa\n",
    "{\"a\": [1, 2.5, null], \"é\": \"\\u00e9\"}",
    "https://example.org/a/b?c=d&e=f#g",
    "日本語のテキストと漢字、それから한국어 그리고 العربية و עברית",
    "e\u{301} \u{e9} \u{1e9b}\u{323} \u{212b} \u{fb01}",
    "👨‍👩‍👧‍👦 👍🏽 🇩🇪 ☺️",
    "a\u{200d}b\u{200b}c\u{feff}d\u{202e}e",
    "١٢٣ 12345678901234567890 Ⅷ ½ ²",
    "<|im_start|>user\n<|im_end|><think></think><tool_call>{}</tool_call><|endoftext|>",
    "<|im_start|<|im_end|>|>",
    "\u{0}\u{1}\u{7f}\u{80}\u{9f}\u{a0}\u{ad}",
    "\u{e000}\u{f8ff}\u{10ffff}",
    "x\u{3000}y\u{2028}z\u{2029}w\u{85}v",
    "ǅ ß ẞ İ ı ſ K",
    "\u{1b}[31mred\u{1b}[0m",
];

#[test]
fn a_corpus_of_nasty_texts_gives_the_same_ids() {
    CORPUS.iter().for_each(|text| agree(text));
    for (at, left) in CORPUS.iter().enumerate() {
        agree(&format!("{left}{}", CORPUS[(at + 7) % CORPUS.len()]));
    }
    agree(&"a".repeat(3000));
    agree(&" ".repeat(500));
}

#[test]
fn the_sources_of_this_crate_give_the_same_ids() {
    for file in ["src/hf.rs", "src/bytes.rs", "src/split.rs", "tests/it/differential.rs", "Cargo.toml"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        agree(&std::fs::read_to_string(path).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text_gives_the_same_ids(text in "(\\PC|[ \n\t\r]|[a-z'0-9]|[a-zé]\\p{M}|\\p{Han}){0,60}") {
        // Beyond the basic plane the two differ in the order of combining marks: see below.
        agree(&text.replace(|c: char| c > '\u{ffff}' && !('\u{1f000}'..'\u{20000}').contains(&c), "𝔸"));
    }
}

/// The one difference known: the release candidate's canonical ordering misses combining marks of
/// Unicode 13 (U+16FF0), so such a text keeps the order in which it was written.
#[test]
fn rare_combining_marks_are_ordered_by_the_released_library_only() {
    let (ours, theirs) = &pairs()[0];
    let text = "a\u{1133b}\u{16ff0}";
    let mut ids = Vec::new();
    ours.encode(text, &mut ids);
    assert_ne!(TokenId::raw(&ids), theirs.encode(text, false).unwrap().get_ids());
}
