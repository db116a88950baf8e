//! `verify template` passes what is append-only, and shows where what is not is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_families::{Options, load, load_with};
use verbatim_stages::verify::{Cut, TemplateReport, template};
use verbatim_tokenizer::{HfTokenizer, Tokenizer};

fn read(file: &str) -> Vec<u8> {
    let cache = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"), PathBuf::from);
    let path = cache.join("assets/tokenizer-qwen3").join(file);
    std::fs::read(path)
        .unwrap_or_else(|e| panic!("{file}: {e}; run `python3 tools/fetch.py tokenizer-qwen3`"))
}

fn tokenizer() -> Arc<dyn Tokenizer> {
    Arc::new(HfTokenizer::from_json(&read("tokenizer.json")).unwrap())
}

#[test]
fn a_native_family_holds_at_every_cut() {
    for name in ["qwen3", "qwennext"] {
        let report = template(load(name, tokenizer(), None, &Map::new()).unwrap().as_ref());
        assert_eq!(report.differences, [], "{name}");
        assert!(
            // A family with one way of thinking is tried at fewer.
            report.holds && report.cuts > 70 && report.replies > 60,
            "{name}: {} {}",
            report.cuts,
            report.replies
        );
    }
}

/// Qwen3's own template drops think blocks when a later user speaks.
#[test]
fn a_template_that_rewrites_is_shown_where_it_does() {
    let config: Value = serde_json::from_slice(&read("tokenizer_config.json")).unwrap();
    let options = Options {
        template: config["chat_template"].as_str().map(str::to_owned),
        special_tokens: serde_json::from_str(r#"{"eos_token": "<|im_end|>"}"#).unwrap(),
        reasoning_parser: Some("qwen3".to_owned()),
        tool_call_parser: Some("qwen25".to_owned()),
        ..Options::default()
    };
    let report: TemplateReport = template(load_with("default", tokenizer(), &options).unwrap().as_ref());
    assert!(!report.holds && report.cuts > 90);
    let found = report
        .differences
        .iter()
        .find(|found| found.shape == "multi_turn_no_tool_thinking, thinking default");
    let found = found.unwrap();
    assert_eq!((found.cut, found.after), (Cut::Before, 2));
    assert!(found.expected.contains("Thought") && !found.got.contains("Thought"), "{found:?}");
    // What is said to follow a turn is right even there.
    assert!(report.differences.iter().all(|found| found.cut != Cut::After));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&json["holds"], &json["differences"][0]["cut"]),
        (&Value::Bool(false), &Value::from("before"))
    );
}
