//! What the stages say where a user is wrong, or the agent is: what happened, and what to do.

use std::process::Output;

use crate::support::{GOOD, Rollout, text, verbatim};

/// A report and its errors, with words on two lines joined.
fn said(output: &Output) -> String {
    text(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = verbatim().args(arguments).output().unwrap();
    let said = said(&output);
    assert!(!output.status.success(), "{arguments:?}: {said}");
    let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
    assert!(missing.is_empty(), "{arguments:?} does not say {missing:?}: {said}");
}

#[test]
fn what_is_not_there_or_no_such_thing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("bad.toml"), "a = [").unwrap();
    std::fs::write(path("words.jsonl"), "no request\n").unwrap();
    std::fs::write(path("empty.jsonl"), "").unwrap();
    std::fs::write(path("empty.toml"), "[engine]\nkind = \"sim\"\n").unwrap();
    let (bad, gone) = (path("bad.toml"), path("gone"));
    for stage in ["assess", "check", "demonstrate", "stage"] {
        refused(&[stage, &bad], &["bad.toml is not valid TOML", "line 1"]);
    }
    refused(&["assess", &gone], &["cannot read", "gone"]);
    refused(&["assess"], &["give a rollout file, --recording FILE, or a command behind --"]);
    refused(&["assess", "--recording", &gone], &["cannot read", "gone"]);
    refused(&["assess", "--recording", &path("words.jsonl")], &["words.jsonl: line 1 is no JSON"]);
    refused(&["assess", "--recording", &path("empty.jsonl")], &["there is no request in it"]);
    refused(&["assess", &path("empty.toml")], &["section [agent] is missing"]);
    refused(
        &["assess", "--engine", "sim", "--matcher", "mine", "--", "true"],
        &["--matcher", "loose_replay, loose_tool_call"],
    );
    refused(&["check", &path("empty.toml")], &["sections [dataset] and [agent] must be there"]);
    refused(
        &["demonstrate", "--force", &path("empty.toml")],
        &["sections [dataset] and [agent] must be there"],
    );
    refused(&["demonstrate", "--replay", &gone], &["is no bundle", "hashes.json"]);
    refused(&["diagnose", &gone], &["gone is not there"]);
    refused(
        &["diagnose", &folder.path().display().to_string()],
        &["there is no event log", "set log.events"],
    );
    refused(&["stage", &gone], &["gone is not there", "verbatim assess -- COMMAND"]);
    refused(
        &["bridge", "--output", &path("out"), "--map", "X", "--", "true"],
        &["--map X", "MY_URL=OPENAI_BASE_URL"],
    );
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let agent = format!("touch {}", ran.display());
    for (name, why) in [
        ("report.pdf", "must end in .json, .md, .html or .txt"),
        ("no/such/folder/report.md", "make it first"),
    ] {
        let path = folder.path().join(name).display().to_string();
        refused(&["assess", "--engine", "sim", "--report", &path, "--", &agent], &["--report", why]);
    }
    assert!(!ran.exists());
}

#[test]
fn an_agent_that_crashes_hangs_or_never_asks_is_blocked_with_what_happened() {
    let assess = |agent: &str, words: &[&str]| {
        refused(&["assess", "--engine", "sim", "--limit", "5", "--", agent], words);
    };
    let todo = "change what stands under Required adaptations";
    assess("true", &["BLOCKED", "no model request was made: give its client OPENAI_BASE_URL", todo]);
    assess("exit 3", &["BLOCKED", "(the agent ended with exit code 3): let it run by itself first", todo]);
    let crash = "printf 'Traceback:\\n  in main\\nKeyError: page\\n' >&2; exit 1";
    assess(crash, &["exit code 1; its log ends: KeyError: page", "Traceback:"]);
    assess("no-such-program", &["exit code 127; its log ends:", "command not found"]);
    assess("sleep 60", &["BLOCKED", "used up its 5 s"]);
    let bridge = |agent: &str, words: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("adapter").display().to_string();
        let more = ["--yes", "--limit", "5", "--", agent];
        refused(&[&["bridge", "--engine", "sim", "--output", &output], &more[..]].concat(), words);
        assert!(!folder.path().join("adapter").exists());
    };
    bridge("exit 3", &["exit code 3", "nothing was written"]);
    bridge("true", &["no model request was recorded", "--map"]);
}

#[test]
fn an_engine_that_is_down_is_named_with_the_command_that_looks_at_it() {
    let agent = "curl -sS -X POST $OPENAI_BASE_URL/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}'";
    refused(
        &["assess", "--url", "http://127.0.0.1:9", "--", agent],
        &["the engine is not available", "127.0.0.1:9"],
    );
    let upstream = ["assess", "--upstream", "http://127.0.0.1:9", "--", agent];
    refused(
        &upstream,
        &["no request is known to have had its reply (status 502)", "verbatim engine probe URL"],
    );
    let rollout = Rollout::new(GOOD, 2, 2, "");
    let file = rollout.path("rollout.toml").display().to_string();
    refused(&["check", &file, "--url", "http://127.0.0.1:9"], &["UNSAFE", "`verbatim engine probe URL`"]);
}

#[test]
fn a_job_that_does_nothing_or_fails_is_told_so_point_by_point() {
    let rollout = Rollout::new(GOOD, 2, 2, "");
    let file = rollout.path("rollout.toml").display().to_string();
    for stage in ["assess", "check"] {
        let done = verbatim().args([stage, &file]).output().unwrap();
        assert!(done.status.success(), "{}", text(&done));
    }
    let idle = ["demonstrate", &file, "--job", "true"];
    refused(
        &idle,
        &["UNVERIFIED", "the job left no event: let it open the rollout file that $VERBATIM_ROLLOUT names"],
    );
    refused(
        &["demonstrate", &file, "--job", "exit 3"],
        &["UNSAFE", "the job: it ended with exit status: 3", "verbatim diagnose BUNDLE"],
    );
    // What `verbatim run` does trains nothing, and the next stage says what is open.
    let words = ["no optimizer_step", "give with --job a command that trains", "put right each point"];
    refused(&["demonstrate", &file, "--tasks", "1"], &words);
    refused(&["stage", &file], &["Current stage: D", "no optimizer_step", "verbatim demonstrate"]);
}
