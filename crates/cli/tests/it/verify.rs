//! Rows are scored again; a row that is off by one token fails.

use verbatim_samples::Format;

use crate::support::{GOOD, Rollout, text, verbatim};

#[test]
fn rows_of_the_embedded_model_score_as_recorded_and_a_shifted_one_does_not() {
    let rollout = Rollout::new(GOOD, 1, 2, "");
    let output = rollout.run(&["--engine", "embedded"]);
    assert!(output.status.success(), "{}", text(&output));
    let file = rollout.path("rows/train-0.jsonl");
    let check = |file: &std::path::Path| {
        let output = verbatim().args(["verify", "rows"]).arg(file).output().unwrap();
        (output.status.success(), text(&output))
    };
    let (holds, said) = check(&file);
    assert!(holds && said.contains("PASS"), "{said}");

    let mut rows = Format::Jsonl.read(&std::fs::read(&file).unwrap()).unwrap();
    for row in &mut rows {
        let turn = &row.turns[0];
        row.logprobs[turn.start..turn.end].rotate_right(1);
    }
    let shifted = rollout.path("shifted.jsonl");
    std::fs::write(&shifted, Format::Jsonl.write(&rows).unwrap()).unwrap();
    let (holds, said) = check(&shifted);
    assert!(!holds && said.contains("FAIL") && said.contains("largest at row"), "{said}");
}

#[test]
fn rows_of_another_engine_do_not_pass() {
    let rollout = Rollout::new(GOOD, 1, 1, "");
    assert!(rollout.run(&[]).status.success());
    let verify = |seed: &str| {
        let mut command = verbatim();
        command.args(["verify", "rows", "--engine", "sim", "--set", &format!("engine.seed={seed}")]);
        command.arg(rollout.path("rows")).output().unwrap().status.success()
    };
    assert!(verify("0"), "the engine that sampled them");
    assert!(!verify("1"), "another one");
}

/// A session of the simulated engine's words is its own render; the report says so in a file, too.
#[test]
fn sessions_are_verified_and_the_report_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let output = verbatim()
        .args(["verify", "session", "--engine", "sim", "--sessions", "2", "--cycles", "1"])
        .args(["--report", file.to_str().unwrap()])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(output.status.success() && said.contains("PASS: no hard mismatch"), "{said}");
    assert!(said.contains("called no tool"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&report["holds"], &report["calls"]), (&true.into(), &0.into()));
    assert!(report["turns"].as_u64().unwrap() >= 12, "{report}");

    let mut command = verbatim();
    command.args(["verify", "session", "--engine", "sim", "--sessions", "1", "--require-calls"]);
    let output = command.output().unwrap();
    assert!(!output.status.success() && text(&output).contains("no tool was called"), "{}", text(&output));
}

/// The engines in the process have no parsers to compare with.
#[test]
fn an_engine_without_parsers_is_refused_by_name() {
    let output = verbatim().args(["verify", "parser", "--engine", "sim"]).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success() && said.contains("does not parse its replies"), "{said}");
}
