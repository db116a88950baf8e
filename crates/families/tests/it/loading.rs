//! Families by name.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use verbatim_families::{FamilyError, NAMES, Options, load, load_with};

use crate::assets::{QWEN3, QWEN25, SMOLLM2};

fn fixed(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_family_is_found_by_its_name_only() {
    let error = load("qwen4", Arc::clone(&QWEN3.tokenizer), None, &Map::new()).err().unwrap();
    assert_eq!(error, FamilyError::Unknown { name: "qwen4".into(), known: NAMES.to_vec() });
    assert!(error.to_string().contains("use one of: default, deepseekv32"), "{error}");
    assert_eq!(QWEN25.family.name(), "qwen25");
}

#[test]
fn a_vocabulary_without_the_markers_is_refused_by_token() {
    let error = load("qwen3", Arc::clone(&QWEN25.tokenizer), None, &Map::new()).err().unwrap();
    assert_eq!(error, FamilyError::Token { family: "qwen3".into(), token: "<think>".into() });
}

#[test]
fn a_native_family_takes_no_template() {
    let error = load("qwen3", Arc::clone(&QWEN3.tokenizer), Some("{{ x }}"), &Map::new()).err().unwrap();
    assert!(error.to_string().contains("takes no chat template"), "{error}");
}

#[test]
fn what_contradicts_a_family_cannot_be_fixed() {
    let asked = fixed(json!({"clear_thinking": true}));
    let error = load("qwen3", Arc::clone(&QWEN3.tokenizer), None, &asked).err().unwrap();
    assert!(error.to_string().contains("clear_thinking=true"), "{error}");
    let asked = fixed(json!({"messages": []}));
    assert!(load("qwen25", Arc::clone(&QWEN25.tokenizer), None, &asked).is_err());
    let options = Options { fixed: fixed(json!({"clear_thinking": false, "x": 1})), ..Options::default() };
    assert!(load_with("qwen3", Arc::clone(&QWEN3.tokenizer), &options).is_ok());
}

#[test]
fn the_stop_tokens_begin_with_the_templates_own() {
    let spelled = |model: &crate::assets::Model| {
        model.family.stop_ids().iter().map(|id| model.spell(&[*id])).collect::<Vec<_>>()
    };
    for model in [&QWEN3, &QWEN25, &SMOLLM2] {
        assert_eq!(spelled(model), ["<|im_end|>", "<|endoftext|>"]);
        assert_eq!((model.family.max_trim(), model.family.warnings().len()), (0, 0));
    }
}
