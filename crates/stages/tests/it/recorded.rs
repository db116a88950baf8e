//! Every recorded agent's lineage, as it is known to be.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use verbatim_chat::{LooseReplay, Matcher, Strict};
use verbatim_stages::lineage::{Declared, Lineage, trace};
use verbatim_stages::recording::{Recording, read};

/// The recordings, by name.
pub(crate) fn recordings() -> Vec<(String, Recording)> {
    let folder = std::env::var_os("VERBATIM_WIRE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/wire"), PathBuf::from);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), read(&std::fs::read_to_string(path).unwrap()).unwrap())).collect()
}

fn told(lineage: &Lineage) -> String {
    let mut out = String::new();
    for step in &lineage.steps {
        let cause = step.cause.map_or("", |cause| cause.name());
        let parent = step.parent.map_or(String::new(), |parent| format!("after {parent}"));
        let respelt: Vec<_> = step.respelt.iter().map(|cause| cause.name()).collect();
        let respelt =
            if respelt.is_empty() { String::new() } else { format!("respelt {}", respelt.join(", ")) };
        let foreign = if step.foreign > 0 { format!("foreign {}", step.foreign) } else { String::new() };
        let parts = [
            step.transition.name().to_owned(),
            parent,
            cause.to_owned(),
            respelt,
            foreign,
            step.problem.clone().unwrap_or_default(),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        writeln!(out, "  {} {}", step.request, parts.join("; ")).unwrap();
    }
    writeln!(out, "  = {}, {} contexts", lineage.topology.name(), lineage.contexts).unwrap();
    out
}

fn all(matcher: &dyn Matcher) -> String {
    let mut out = String::new();
    for (name, recording) in recordings() {
        writeln!(out, "{name}\n{}", told(&trace(&recording, matcher, Declared::Nothing))).unwrap();
    }
    out
}

#[test]
fn every_recorded_agent_is_classified_as_it_is_known_to_be() {
    assert_snapshot!("loose_replay", all(&LooseReplay));
}

#[test]
fn every_recorded_agent_under_the_strict_matcher() {
    assert_snapshot!("strict", all(&Strict));
}
