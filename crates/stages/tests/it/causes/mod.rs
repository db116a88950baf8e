//! Recordings that were changed in ways whose causes are known because we made them.
//!
//! The tables of `docs/src/stages-causes.md` are made of these: `tools/stages/causes` writes them.

mod as_sent;
mod changes;
mod counted;
mod others;

use std::path::Path;

use serde_json::Value;
use verbatim_chat::{LooseReplay, Matcher};
use verbatim_stages::lineage::{Cause, Declared, Lineage, Topology, trace};
use verbatim_stages::recording::read;

pub(crate) type Lines = Vec<Value>;

/// A change: its name, what it does to the lines (false where there is nothing to change), and what a strict and a
/// tolerant session must say; none is linear.
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    pub(crate) change: fn(&mut Lines) -> bool,
    pub(crate) strict: Option<Cause>,
    pub(crate) loose: Option<Cause>,
}

pub(crate) fn messages(line: &mut Value) -> &mut Vec<Value> {
    line["body"]["messages"].as_array_mut().unwrap()
}

pub(crate) fn last(lines: &mut Lines) -> &mut Vec<Value> {
    messages(lines.last_mut().unwrap())
}

pub(crate) fn place(messages: &[Value], role: &str) -> Option<usize> {
    messages.iter().position(|message| message["role"] == role)
}

pub(crate) fn first_turn(lines: &mut Lines) -> Option<&mut Value> {
    let messages = last(lines);
    let at = place(messages, "assistant")?;
    Some(&mut messages[at])
}

/// The linear chat recordings: what they are changed from.
pub(crate) fn bases() -> Vec<(String, Lines)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/wire");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let lines = |path: &Path| -> Lines {
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all =
        files.iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), lines(path)));
    all.filter(|(_, lines)| {
        let chats = lines.iter().all(|line| line["path"].as_str().unwrap().ends_with("/chat/completions"));
        let failed = lines.iter().any(|line| line["reply"].get("status").is_some());
        chats && !failed && lines.len() > 2 && audit(lines, &LooseReplay).topology == Topology::Linear
    })
    .collect()
}

pub(crate) fn audit(lines: &Lines, matcher: &dyn Matcher) -> Lineage {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    trace(&read(&text).unwrap(), matcher, Declared::Nothing)
}

/// What an audit says: the first cause of a branch; none is linear.
pub(crate) fn said(lineage: &Lineage) -> Result<Option<Cause>, String> {
    match (lineage.topology, lineage.steps.iter().find(|step| step.is_branch())) {
        (Topology::Linear, None) => Ok(None),
        (_, Some(step)) => step.cause.map(Some).ok_or_else(|| "a branch without a cause".to_owned()),
        (topology, None) => Err(topology.name().to_owned()),
    }
}
