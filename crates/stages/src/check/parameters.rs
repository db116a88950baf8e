//! Settings, each with where it came from.
//!
//! The invariant: every setting is listed; one that is wrong in itself, needs another, or excludes another is named with
//! the rule that says so, and the rules are the ones that the job itself would refuse it by.

use serde::{Deserialize, Serialize};

use super::{Line, Verdict};

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its dotted name.
    pub name: String,
    /// Its value, as TOML.
    pub value: String,
    /// Where it came from: `default`, `flag`, or a file.
    pub origin: String,
}

/// Judges settings: `problems` are what the job would refuse, each beginning with the name of a setting where it has
/// one; `notes` are settings that do nothing where they stand. `unknown` is what could not be looked at.
pub fn parameters(all: &[Parameter], problems: &[String], notes: &[String], unknown: &[String]) -> Vec<Line> {
    let about = |text: &str| {
        let named =
            all.iter().filter(|parameter| text.starts_with(&parameter.name)).max_by_key(|p| p.name.len());
        named.map_or("Agentic parameters".to_owned(), |parameter| {
            format!("Agentic parameters, {}", parameter.name)
        })
    };
    let mut lines: Vec<Line> = Vec::new();
    // What it is about is not said twice.
    let line = |verdict, text: &String, before: &str| {
        let about = about(text);
        let named = about.strip_prefix("Agentic parameters, ");
        let rest = named.and_then(|name| text.strip_prefix(name)?.strip_prefix(": ")).unwrap_or(text);
        Line::new(verdict, &about, format!("{before}{rest}"), "")
    };
    lines.extend(problems.iter().map(|problem| line(Verdict::NeedsChanges, problem, "")));
    lines.extend(unknown.iter().map(|what| line(Verdict::Unverified, what, "")));
    lines.extend(notes.iter().map(|note| line(Verdict::Pass, note, "note: ")));
    if problems.is_empty() && unknown.is_empty() {
        let set = all.iter().filter(|parameter| parameter.origin != "default").count();
        let what =
            format!("{} settings, {set} of them set; none is out of range or excludes another", all.len());
        lines.insert(0, Line::new(Verdict::Pass, "Agentic parameters", what, ""));
    }
    lines
}
