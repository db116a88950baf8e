//! Every setting of the schema is known to the stages.
//!
//! The invariant: the settings are not listed here. The schema itself is asked for them, by a setting that there is not:
//! it answers with those that there are. A new one fails these tests until the stages know it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::hashes::{BESIDE, hashes};
use super::resolved::resolved;
use crate::config::{Config, Layered, Origin, PATHS};

/// Settings that take a text, or a list of texts, and are no paths; `engine.model` may be one, and `rollout.output` a URL.
const WORDS: [&str; 43] = [
    "agent.command",
    "agent.function",
    "agent.inherit_env",
    "agent.server_url",
    "agent.setup",
    "agent.url",
    "dataset.input_key",
    "dataset.label_key",
    "dataset.metadata_key",
    "engine.accept_loss",
    "engine.logprobs",
    "engine.precision",
    "engine.router",
    "engine.sim_tool",
    "engine.urls",
    "family.name",
    "family.reasoning_parser",
    "family.tool_call_parser",
    "log.filter",
    "log.otlp",
    "plugins.picker",
    "plugins.postprocessor",
    "plugins.python",
    "reward.advantage",
    "reward.contexts",
    "reward.filter",
    "reward.group",
    "reward.key",
    "reward.session",
    "rollout.format",
    "rollout.mode",
    "rollout.on_session_failure",
    "rollout.pick",
    "rollout.purpose",
    "rollout.sink",
    "server.listen",
    "server.passed",
    "server.trust_cidr",
    "sessions.lineage",
    "sessions.matcher",
    "sessions.tools_drift",
    "eval.name",
    "eval.path",
];

/// Values of which every setting takes one that is not its default.
const VALUES: [&str; 11] =
    ["true", "false", "7", "3", "0.25", "\"./x\"", "[\"./x\"]", "{ x = 1 }", "{ x = \"y\" }", "{}", "[]"];

fn read(more: &[(&str, &str)]) -> anyhow::Result<Layered> {
    let base = [("dataset.path", "\"tasks.jsonl\""), ("agent.command", "\"true\"")];
    let flags: Vec<_> =
        base.iter().chain(more).map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Layered::new(None, &flags)
}

/// What stands between backticks in an error, but for what was asked.
fn quoted(error: &anyhow::Error) -> Vec<String> {
    let text = format!("{error:#}");
    let words = text.split('`').skip(1).step_by(2);
    words.filter(|word| *word != "no_such_setting").map(str::to_owned).collect()
}

/// The names that a section has; of the whole file, its sections.
fn names(section: &str) -> Vec<String> {
    let key =
        if section.is_empty() { "no_such_setting".into() } else { format!("{section}.no_such_setting") };
    let asked = match section {
        "eval" => read(&[("eval", "[{ no_such_setting = 1 }]")]),
        _ => read(&[(key.as_str(), "1")]),
    };
    let names = quoted(&asked.unwrap_err());
    assert!(!names.is_empty(), "the schema of {section:?} does not say what it expects");
    names
}

/// Every setting, as `section.name`.
fn settings() -> Vec<String> {
    let sections = names("");
    let all = sections
        .iter()
        .flat_map(|section| names(section).into_iter().map(move |name| format!("{section}.{name}")));
    all.collect()
}

fn flag(key: &str, value: &str) -> (String, String) {
    match key.strip_prefix("eval.") {
        // Of a list of sections one is given whole.
        Some("name") => ("eval".into(), format!("[{{ name = {value}, path = \"p\" }}]")),
        Some("path") => ("eval".into(), format!("[{{ name = \"n\", path = {value} }}]")),
        Some(name) => ("eval".into(), format!("[{{ name = \"n\", path = \"p\", {name} = {value} }}]")),
        None => (key.into(), value.into()),
    }
}

fn value(config: &Config) -> Value {
    serde_json::to_value(config).unwrap()
}

/// The settings with another value of one of them, beside those without.
fn changed(key: &str) -> (Config, Config) {
    let base = match key.starts_with("eval.") {
        true => read(&[("eval", "[{ name = \"n\", path = \"p\" }]")]).unwrap().config,
        false => read(&[]).unwrap().config,
    };
    let mut tried: Vec<String> = VALUES.map(str::to_owned).to_vec();
    // Of a setting that takes one of some words the schema says which.
    let (name, word) = flag(key, "\"no_such_setting\"");
    tried.extend(read(&[(&name, &word)]).err().iter().flat_map(quoted).map(|word| format!("{word:?}")));
    for text in tried {
        let (name, text) = flag(key, &text);
        let layered = read(&[(&name, &text)]);
        if let Some(layered) = layered.ok().filter(|layered| value(&layered.config) != value(&base)) {
            assert_eq!(layered.origin(&name), Origin::Flag);
            let listed = layered.each().unwrap();
            let is_told = listed.iter().any(|(told, _, origin)| *told == name && *origin == Origin::Flag);
            assert!(is_told, "{key} is not among the settings that a check lists with their origin");
            return (base, layered.config);
        }
    }
    panic!("no value of {key} was found that it takes: give one in VALUES");
}

#[test]
fn a_setting_that_is_changed_makes_stages_stale_or_is_named_as_one_that_no_verdict_rests_on() {
    let all = settings();
    assert!(all.len() > 100, "{all:?}");
    for key in &all {
        let (base, other) = changed(key);
        let differs = hashes(&base, None).unwrap() != hashes(&other, None).unwrap();
        assert_eq!(differs, !BESIDE.contains(&key.as_str()), "{key}");
    }
    for key in BESIDE {
        assert!(all.iter().any(|known| known == key), "there is no setting {key}");
    }
}

#[test]
fn a_setting_that_is_a_path_means_the_same_wherever_its_file_lies() {
    let all = settings();
    for key in PATHS.iter().chain(&WORDS) {
        assert!(all.iter().any(|known| known == key), "there is no setting {key}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rollout.toml");
    for key in all.iter().filter(|key| !key.starts_with("eval.")) {
        let (section, name) = key.split_once('.').unwrap();
        let text = |value: &str| format!("[{section}]\n{name} = {value}\n");
        let found = ["\"./x\"", "[\"./x\"]"].into_iter().find_map(|value| {
            let more = if section == "dataset" && name != "path" { "path = \"p\"\n" } else { "" };
            std::fs::write(&file, text(value) + more).unwrap();
            Layered::new(Some(&file), &[]).ok()
        });
        let Some(layered) = found else { continue };
        let is_path = PATHS.contains(&key.as_str());
        assert!(
            is_path || WORDS.contains(&key.as_str()),
            "{key}: is it a path? Name it in PATHS or in WORDS"
        );
        if !is_path {
            continue;
        }
        let anchored = &value(&layered.config)[section][name];
        let whole = &value(&resolved(&layered.config).unwrap())[section][name];
        let place = folder.path().join("./x");
        let said = |value: &Value| value.as_str().or_else(|| value[0].as_str()).map(PathBuf::from);
        assert_eq!(said(anchored).as_deref(), Some(place.as_path()), "{key} is relative to its file");
        assert!(said(whole).is_some_and(|path| path.is_absolute()), "{key} is whole in a bundle");
    }
    assert!(Path::new(&resolved(&read(&[]).unwrap().config).unwrap().dataset.unwrap().path).is_absolute());
}
