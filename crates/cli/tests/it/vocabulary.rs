//! A model's folder with a vocabulary in tiktoken's format.

use std::path::Path;

use crate::support::{text, verbatim};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Every byte as an entry of its own.
fn ranks() -> String {
    let digit = |at: u8| char::from(DIGITS[usize::from(at)]);
    let lines = (0..=255u8).map(|byte| format!("{}{}== {byte}\n", digit(byte >> 2), digit((byte & 3) << 4)));
    lines.collect()
}

const TOKENS: [&str; 12] = [
    "<|im_user|>",
    "<|im_assistant|>",
    "<|im_system|>",
    "<|im_middle|>",
    "<|im_end|>",
    "<think>",
    "</think>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
];

fn config() -> String {
    let added = TOKENS.iter().enumerate().map(|(at, token)| {
        format!("\"{}\": {{\"content\": \"{token}\", \"special\": {}}}", 256 + at, at < 5)
    });
    format!(
        "{{\"added_tokens_decoder\": {{{}}}, \"eos_token\": \"<|im_end|>\"}}",
        added.collect::<Vec<_>>().join(", ")
    )
}

fn check(folder: &Path) -> (bool, String) {
    let mut command = verbatim();
    let output =
        command.args(["verify", "template", "--family", "kimi26", "--model"]).arg(folder).output().unwrap();
    (output.status.success(), text(&output))
}

#[test]
fn a_folder_with_a_tiktoken_file_is_a_models() {
    for name in ["tiktoken.model", "kimi.tiktoken"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), ranks()).unwrap();
        std::fs::write(folder.path().join("tokenizer_config.json"), config()).unwrap();
        let (holds, said) = check(folder.path());
        assert!(holds, "{said}");
    }
}

#[test]
fn what_a_folder_lacks_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |what: &str, way: &str| {
        let (holds, said) = check(folder.path());
        assert!(!holds && said.contains(what) && said.contains(way), "{said}");
    };
    refused("has no vocabulary", "tiktoken.model");
    std::fs::write(folder.path().join("a.tiktoken"), ranks()).unwrap();
    refused("tokenizer_config.json", "copy it from the model");
    std::fs::write(folder.path().join("tokenizer_config.json"), "{").unwrap();
    refused("tokenizer_config.json", "no JSON");
    std::fs::write(folder.path().join("tokenizer_config.json"), config()).unwrap();
    std::fs::write(folder.path().join("b.tiktoken"), ranks()).unwrap();
    refused("are both vocabularies", "rename");
    std::fs::write(folder.path().join("tiktoken.model"), "QQ== 1\n").unwrap();
    refused("tiktoken.model", "line 1");
}
