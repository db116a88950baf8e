//! Every command, flag, setting, field and cause that the skill for coding agents names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use verbatim_stages::lineage::Cause;

use crate::stages::{assessed, checked};
use crate::support::{text, verbatim};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills/agentic-rollout")
}

/// The skill's pages, by their names.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("SKILL.md".to_owned(), folder().join("SKILL.md"))]);
    for entry in std::fs::read_dir(folder().join("references")).unwrap() {
        let entry = entry.unwrap();
        pages.insert(format!("references/{}", entry.file_name().to_string_lossy()), entry.path());
    }
    pages.into_iter().map(|(name, path)| (name, std::fs::read_to_string(path).unwrap())).collect()
}

/// What stands between single backticks, and the lines of indented code.
fn code(page: &str) -> Vec<String> {
    let indented = page.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned);
    let spans = page.split('`').skip(1).step_by(2).map(str::to_owned);
    spans.chain(indented).collect()
}

/// A command's own help; none if there is no such command.
fn help(words: &[&str]) -> Option<String> {
    let output = verbatim().args(words).arg("--help").output().unwrap();
    output.status.success().then(|| text(&output))
}

#[test]
fn it_has_its_form_and_nine_references_that_lead_to_one_another() {
    let pages = pages();
    assert_eq!(pages.len(), 10, "{:?}", pages.keys());
    let skill = &pages["SKILL.md"];
    let front = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
    let field = |name: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("{name} is missing")).to_owned()
    };
    assert_eq!(field("name"), "agentic-rollout");
    let description = field("description");
    assert!((1..=1024).contains(&description.len()) && description.contains("Use when"), "{description}");
    assert!(skill.lines().count() < 500);
    for (name, page) in &pages {
        let here = folder().join(name);
        for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(here.parent().unwrap().join(target).is_file(), "{name}: {target}");
        }
    }
    let linked = |name: &str| skill.contains(&format!("({name})"));
    assert!(pages.keys().filter(|name| *name != "SKILL.md").all(|name| linked(name)));
}

#[test]
fn every_command_and_flag_exists() {
    let (mut commands, mut flags) = (BTreeSet::new(), 0);
    for (name, page) in pages() {
        for code in code(&page).iter().filter(|code| code.starts_with("verbatim ")) {
            let words: Vec<&str> = code.split_whitespace().skip(1).take_while(|word| *word != "--").collect();
            let is_command = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            let command: Vec<&str> = words.iter().take(2).take_while(is_command).copied().collect();
            let help = help(&command).unwrap_or_else(|| panic!("{name}: no such command: {code}"));
            commands.insert(command.join(" "));
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(flag), "{name}: {flag} in {code}");
                flags += 1;
            }
        }
    }
    for stage in ["assess", "bridge", "check", "demonstrate", "stage", "diagnose"] {
        assert!(commands.contains(stage), "{stage} is never used: {commands:?}");
    }
    assert!(flags > 12, "{flags}");
    // Flags that stand alone are of the stage whose page it is, or of one that it leads to.
    let all: String = ["assess", "bridge", "check", "demonstrate", "stage", "diagnose"]
        .into_iter()
        .filter_map(|command| help(&[command]))
        .collect();
    for (name, page) in pages() {
        for code in code(&page).iter().filter(|code| code.starts_with("--")) {
            let flag = code.split_whitespace().next().unwrap();
            assert!(all.contains(flag), "{name}: {flag}");
        }
    }
}

#[test]
fn every_setting_exists() {
    let sections =
        ["engine", "family", "sessions", "server", "dataset", "agent", "rollout", "eval", "reward", "log"];
    let mut settings = BTreeSet::new();
    for (_, page) in pages() {
        for code in code(&page) {
            let Some((section, name)) = code.split_once('.') else { continue };
            let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if sections.contains(&section) && plain && !["toml", "sh", "md"].contains(&name) {
                settings.insert(code.clone());
            }
        }
    }
    assert!(settings.len() > 10, "{settings:?}");
    for setting in settings {
        // Of datasets to evaluate on there are several.
        let set = match setting.split_once("eval.") {
            Some(("", name)) => format!("eval=[{{name=\"e\",path=\"p\",{name}=[[]]}}]"),
            _ => format!("{setting}=[[]]"),
        };
        let output = verbatim().args(["config", "--set", &set]).output().unwrap();
        let said = text(&output);
        assert!(!said.contains("unknown field"), "{setting}: {said}");
    }
}

#[test]
fn every_field_of_a_report_and_every_cause_exists() {
    let missing = verbatim().args(["stage", "no-such.toml"]).output().unwrap();
    let stages: String = ["bridge", "demonstrate", "diagnose"]
        .iter()
        .map(|stage| std::fs::read_to_string(source(stage)).unwrap())
        .collect();
    let reports = format!("{}{}{}", assessed(), checked(), text(&missing));
    let mut fields = BTreeSet::new();
    for (name, page) in pages() {
        for code in code(&page).iter().filter(|code| code.ends_with(':') && !code.contains("  ")) {
            let field = code.trim_end_matches(':');
            let told = reports.contains(code.as_str()) || stages.contains(&format!("\"{field}\""));
            assert!(told, "{name}: no report has the field {field:?}");
            fields.insert(field.to_owned());
        }
    }
    assert!(fields.len() >= 18, "{fields:?}");
    let causes: BTreeSet<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    let contexts = &pages()["references/contexts.md"];
    let rows = contexts.lines().filter(|line| line.starts_with("| `"));
    let named: BTreeSet<String> =
        rows.flat_map(|row| code(row.split('|').nth(1).unwrap())).filter(|name| !name.is_empty()).collect();
    assert_eq!(named, causes.into_iter().map(str::to_owned).collect());
}

/// Where a report is made that needs a run to be seen.
fn source(stage: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match stage {
        "bridge" => root.join("src/stages/bridge.rs"),
        "demonstrate" => root.join("../stages/src/demonstrate/report.rs"),
        _ => root.join("../stages/src/diagnose/mod.rs"),
    }
}
