//! The blocks of stages A and C, field by field.

use insta::assert_snapshot;
use verbatim_chat::{LooseReplay, Matcher, Strict};
use verbatim_stages::assess::{Evidence, Execution, assess};
use verbatim_stages::check::{
    Checked, Gate, Hashes, Line, Load, Parameter, Parts, Patience, Verdict, capacity, hold, linearity,
    parsers, timeout, traffic,
};
use verbatim_stages::lineage::{Declared, Topology};
use verbatim_stages::page::{Page, Part};

use crate::recorded::recordings;

fn block(fields: Vec<(String, Vec<String>)>) -> String {
    Page::default().with(Part::Fields(fields)).text()
}

fn assessed(names: &[&str], matcher: &dyn Matcher, declared: Declared, integrated: bool) -> String {
    let all = recordings();
    let runs = all.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let runs: Vec<_> = runs.map(|(name, recording)| (name.clone(), recording, None)).collect();
    assert_eq!(runs.len(), names.len());
    let execution = Execution::Local;
    block(assess(&Evidence { runs, matcher, declared, execution, integrated }).block())
}

#[test]
fn a_ready_agent() {
    let text = assessed(&["openai-sdk-chat-obj"], &LooseReplay, Declared::Nothing, true);
    assert_snapshot!("a_ready", text);
    assert!(text.contains("READY") && text.contains("linear"), "{text}");
}

#[test]
fn an_agent_that_must_change() {
    assert_snapshot!("a_changes", assessed(&["langchain-chat"], &Strict, Declared::Nothing, false));
}

#[test]
fn branches_that_nobody_declared_and_the_same_declared() {
    assert_snapshot!(
        "a_branches",
        assessed(&["subagent-claude-code"], &LooseReplay, Declared::Nothing, false)
    );
    assert_snapshot!(
        "a_declared",
        assessed(&["subagent-claude-code"], &LooseReplay, Declared::Branches, true)
    );
}

#[test]
fn nothing_recorded_is_blocked() {
    assert_snapshot!("a_nothing", assessed(&[], &LooseReplay, Declared::Nothing, false));
}

/// A check of a rollout in which everything that was looked at is right.
fn sound() -> Parts {
    let pass = |about: &str| vec![Line::new(Verdict::Pass, about, "as it should be", "")];
    let all = recordings();
    let (_, recording) = all.iter().find(|(name, _)| name == "openai-sdk-chat-obj").unwrap();
    let patience = Patience { client: Some(900.0), ..Patience::default() };
    Parts {
        parameters: pass("Agentic parameters"),
        linearity: vec![linearity(Some(Topology::Linear), false, "1 runs")],
        capacity: vec![capacity(LOAD, Gate::Shared(Some(8)))],
        scale: vec![Line::new(Verdict::NotApplicable, "Internal scale", "far below every width", "")],
        timeout: vec![timeout(&hold(false, 60.0, 600.0, None), patience)],
        parsers: parsers(Ok((3, Vec::new())), Some(&traffic([recording]))),
        export: pass("Export/advantage/batching"),
        groups: pass("Groups"),
        engine: pass("Engine"),
        steps: pass("Steps"),
        cache: vec![Line::new(Verdict::NotApplicable, "Cache", "off", "")],
    }
}

const LOAD: Load = Load { train: 8, eval: 0, retained: false };

fn checked(parts: Parts, gate: Gate) -> Checked {
    let setting = Parameter { name: "a.b".into(), value: "1".into(), origin: "default".into() };
    Checked::new(parts, LOAD, gate, Hashes::new(), vec![setting])
}

#[test]
fn a_rollout_that_is_ready() {
    let checked = checked(sound(), Gate::Shared(Some(8)));
    assert_snapshot!("c_ready", block(checked.block()));
    assert!(checked.is_ready());
}

#[test]
fn a_rollout_that_is_not() {
    let patience = Patience { client: Some(30.0), ..Patience::default() };
    let parts = Parts {
        linearity: vec![linearity(Some(Topology::Accidental), false, "2 runs")],
        capacity: vec![capacity(LOAD, Gate::Shared(Some(2)))],
        timeout: vec![timeout(&hold(true, 60.0, 600.0, None), patience)],
        parsers: parsers(Err("no model".into()), None),
        ..sound()
    };
    let checked = checked(parts, Gate::Shared(Some(2)));
    assert_snapshot!("c_unsafe", block(checked.block()));
    assert!(!checked.is_ready());
}

#[test]
fn whatever_part_is_missing_or_unknown_there_is_no_pass() {
    type Part = fn(&mut Parts) -> &mut Vec<Line>;
    let each: [Part; 11] = [
        |parts| &mut parts.parameters,
        |parts| &mut parts.linearity,
        |parts| &mut parts.capacity,
        |parts| &mut parts.scale,
        |parts| &mut parts.timeout,
        |parts| &mut parts.parsers,
        |parts| &mut parts.export,
        |parts| &mut parts.groups,
        |parts| &mut parts.engine,
        |parts| &mut parts.steps,
        |parts| &mut parts.cache,
    ];
    for (number, part) in each.into_iter().enumerate() {
        let verdict = |change: fn(&mut Vec<Line>)| {
            let mut parts = sound();
            change(part(&mut parts));
            checked(parts, Gate::Shared(Some(8))).verdict
        };
        assert_eq!(verdict(|_| {}), Verdict::Pass, "{number}");
        assert_eq!(verdict(Vec::clear), Verdict::Unverified, "{number}");
        assert_eq!(
            verdict(|lines| lines.push(Line::new(Verdict::Unverified, "x", "y", ""))),
            Verdict::Unverified,
            "{number}"
        );
        for wrong in [
            verdict(|lines| lines.push(Line::new(Verdict::NeedsChanges, "x", "y", ""))),
            verdict(|lines| lines.push(Line::new(Verdict::Unsafe, "x", "y", ""))),
        ] {
            assert_eq!(wrong, Verdict::Unsafe, "{number}");
        }
    }
}
