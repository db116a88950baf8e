//! The stages as commands.

use std::path::{Path, PathBuf};

use crate::support::{GOOD, Rollout, text, verbatim};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/wire").join(format!("{name}.jsonl"))
}

/// The report of an assessment of a recorded agent.
pub(crate) fn assessed() -> String {
    text(&verbatim().args(["assess", "--recording"]).arg(recording("openai-sdk-chat-obj")).output().unwrap())
}

/// The report of a check of a rollout that was never assessed.
pub(crate) fn checked() -> String {
    let rollout = Rollout::new(GOOD, 2, 2, "");
    text(&verbatim().arg("check").arg(rollout.path("rollout.toml")).output().unwrap())
}

fn columns(report: &str) -> usize {
    report.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

#[test]
fn a_recording_is_assessed_and_the_exit_code_says_whether_it_is_ready() {
    let ready =
        verbatim().args(["assess", "--recording"]).arg(recording("openai-sdk-chat-obj")).output().unwrap();
    let said = text(&ready);
    assert!(ready.status.success() && said.contains("READY") && said.contains("linear"), "{said}");
    assert!(columns(&said) <= 80, "{said}");
    let strict = ["assess", "--matcher", "strict", "--json", "--recording"];
    let drift = verbatim().args(strict).arg(recording("langchain-chat")).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&drift.stdout).unwrap();
    assert!(!drift.status.success() && told["readiness"] == "NEEDS_CHANGES", "{told}");
}

#[test]
fn a_rollout_that_was_never_assessed_is_unverified_and_is_not_demonstrated() {
    let rollout = Rollout::new(GOOD, 2, 2, "");
    let file = rollout.path("rollout.toml");
    let output = verbatim().arg("check").arg(&file).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success() && said.contains("UNVERIFIED"), "{said}");
    assert!(columns(&said) <= 80, "{said}");
    let refused = verbatim().arg("demonstrate").arg(&file).output().unwrap();
    assert!(
        !refused.status.success() && text(&refused).contains("its check says UNVERIFIED"),
        "{}",
        text(&refused)
    );
    assert!(!rollout.path("rows").exists(), "a check starts nothing");
    // The agent takes one turn and is linear; its client says nothing of a timeout, and nothing is held.
    let assessed = verbatim().arg("assess").arg(&file).output().unwrap();
    assert!(assessed.status.success(), "{}", text(&assessed));
    let checked = verbatim().arg("check").arg(&file).output().unwrap();
    assert!(checked.status.success() && text(&checked).contains("Ready to launch"), "{}", text(&checked));
}

#[test]
fn an_adapter_is_written_whole_after_one_task_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("agent.sh");
    std::fs::write(&script, format!("cd \"$VERBATIM_SESSION_IO_DIR\"\nOPENAI_BASE_URL=$MY_URL\n{GOOD}"))
        .unwrap();
    let output = folder.path().join("adapter");
    let bridge = |map: &str| {
        let mut command = verbatim();
        command.args(["bridge", "--engine", "sim", "--yes", "--map", map, "--output"]).arg(&output);
        command.args(["--limit", "60", "--", "bash"]).arg(&script).output().unwrap()
    };
    let wrong = bridge("YOUR_URL=OPENAI_BASE_URL");
    assert!(!wrong.status.success() && text(&wrong).contains("nothing was written"), "{}", text(&wrong));
    assert!(!output.exists());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let right = bridge("MY_URL=OPENAI_BASE_URL");
    let said = text(&right);
    assert!(right.status.success() && said.contains("Stage B: Bridge"), "{said}");
    let names = ["launch.sh", "rollout.toml", "choices.md", "tasks.jsonl"];
    assert!(names.iter().all(|name| output.join(name).is_file()), "{said}");
    let assessed = verbatim().arg("assess").arg(output.join("rollout.toml")).output().unwrap();
    assert!(assessed.status.success(), "{}", text(&assessed));
}
