//! Cutting text at the special tokens it spells.

use verbatim_tokenizer::{HfTokenizer, Piece, SpecialSplitter, Tokenizer};

use crate::vocabularies::qwen3;

#[test]
fn a_rendered_prompt_is_cut_at_its_control_tokens() {
    let splitter = SpecialSplitter::new(qwen3(), |_| true);
    let id = |spelling: &str| Piece::Special(qwen3().special(spelling).unwrap());
    assert_eq!(
        splitter.split("<|im_start|>user\nhi<|im_end|>\n<|im_start|>"),
        [
            id("<|im_start|>"),
            Piece::Text("user\nhi"),
            id("<|im_end|>"),
            Piece::Text("\n"),
            id("<|im_start|>")
        ]
    );
    assert_eq!(splitter.split(""), []);
    assert_eq!(splitter.split("plain"), [Piece::Text("plain")]);
    assert_eq!(splitter.split("<|im_<think>"), [Piece::Text("<|im_"), id("<think>")]);
}

#[test]
fn only_the_wanted_tokens_are_found() {
    let splitter = SpecialSplitter::new(qwen3(), |added| added.control);
    assert_eq!(splitter.split("<think>x"), [Piece::Text("<think>x")]);
    let spelled = splitter.spelled("a<|im_end|>b");
    assert_eq!(spelled.first().map(|(range, _)| (range.start, range.end)), Some((1, 11)));
}

#[test]
fn the_longer_token_wins_and_declared_whitespace_is_swallowed() {
    let tokenizer = HfTokenizer::from_json(
        br#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [
            {"id": 1, "content": "<e>"}, {"id": 2, "content": "<e>>", "lstrip": true, "rstrip": true}]}"#,
    )
    .unwrap();
    let splitter = SpecialSplitter::new(&tokenizer, |_| true);
    let special = |spelling: &str| Piece::Special(tokenizer.special(spelling).unwrap());
    assert_eq!(
        splitter.split("a \n<e>> a<e>"),
        [Piece::Text("a"), special("<e>>"), Piece::Text("a"), special("<e>")]
    );
}
