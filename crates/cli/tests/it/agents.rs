//! `verbatim run` with agents that behave, exit early, write nonsense, hang, or are cut off.

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{GOOD, Rollout, alive, names, text, until};

#[test]
fn every_group_becomes_one_file_of_rows_and_a_line_of_the_summary() {
    let rollout = Rollout::new(GOOD, 3, 2, "");
    let output = rollout.run(&[]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl", "train-1.jsonl", "train-2.jsonl"]);
    for (task, rows) in rollout.rows().iter().enumerate() {
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.reward, Some(1.0));
            assert_eq!(row.metadata["number"], task, "the dataset's metadata is the row's");
            assert_eq!(row.metadata["seen"], true, "and the agent's");
            assert!(row.trained() > 0);
        }
        assert_ne!(rows[0].session, rows[1].session);
        assert_eq!(rows[0].group, rows[1].group);
    }
    assert!(said.contains("groups kept") && said.contains("mean 1.000"), "{said}");
    assert_eq!(rollout.told("group_finished"), 3);
}

#[test]
fn an_agent_finds_its_task_and_its_place_in_the_environment() {
    let script = format!(
        "{GOOD}
test \"$RELAX_SESSION_ID\" = \"$VERBATIM_API_KEY\" || exit 11
test \"$RELAX_BASE_URL\" = \"${{VERBATIM_BASE_URL%v1}}\" || exit 12
test \"$VERBATIM_ROLLOUT_MODE $RELAX_ROLLOUT_MODE\" = 'train train' || exit 13
test -z \"$VERBATIM_CONTROL_KEY\" || exit 14
grep -q '\"content\":\"task 0\"' \"$RELAX_INPUT_JSON\" || exit 15
grep -q '\"number\":0' \"$VERBATIM_INPUT_JSON\" || exit 16
"
    );
    let rollout = Rollout::new(&script, 1, 1, "");
    let output = rollout.command(&[]).env("VERBATIM_CONTROL_KEY", "secret").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn agents_are_told_where_they_reach_the_server() {
    let rollout = Rollout::new("test \"$VERBATIM_BASE_URL\" = http://front:1234/v1 && exit 21", 1, 1, "");
    let said = text(&rollout.run(&["--set", "agent.server_url=\"http://front:1234/\""]));
    assert!(said.contains("exit code 21"), "{said}");
}

#[test]
fn one_agents_failure_drops_its_own_group_and_says_why() {
    let cases = [
        ("exit 3", "agent_failed", "exit code 3", 60),
        ("echo '[1' > \"$VERBATIM_OUTPUT_JSON\"", "agent_output", "JSON object", 60),
        ("sleep 7101.5", "agent_timeout", "used up its 5 s", 5),
    ];
    for (failure, cause, says, seconds) in cases {
        let script =
            format!("{GOOD}\ngrep -q '\"number\":1' \"$VERBATIM_INPUT_JSON\" && {{ {failure}; }}\ntrue");
        let rollout = Rollout::new(&script, 3, 2, "");
        let output = rollout.run(&["--set", &format!("agent.timeout_seconds={seconds}")]);
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl", "train-2.jsonl"], "{said}");
        assert!(said.contains(&format!("groups dropped: {cause}")) && said.contains(says), "{said}");
        assert_eq!(
            rollout.told(&format!("\"event\":\"group_dropped\",\"group\":\"train:1\",\"cause\":\"{cause}\"")),
            1
        );
    }
    assert_eq!(alive("7101.5"), 0);
}

#[test]
fn an_agent_that_takes_no_turn_yields_no_row_and_no_zero_reward() {
    let rollout = Rollout::new("echo '{\"reward\": 0}' > \"$VERBATIM_OUTPUT_JSON\"", 1, 1, "");
    let output = rollout.run(&[]);
    assert!(!output.status.success(), "nothing was kept");
    assert!(text(&output).contains("groups dropped: no_turns"), "{}", text(&output));
    assert!(names(&rollout.path("rows")).is_empty());
}

#[test]
fn a_rollout_whose_groups_all_fail_ends_with_what_they_fail_of() {
    let rollout = Rollout::new("echo no such tool >&2; exit 3", 40, 1, "");
    let settings = ["rollout.give_up=3", "rollout.retries=0", "rollout.batch=1", "rollout.resident=1"];
    let flags: Vec<_> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let output = rollout.run(&flags);
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("3 groups in a row failed, the last one with agent_failed: session 0: "), "{said}");
    assert!(said.contains("no such tool") && said.contains("set rollout.give_up"), "{said}");
    assert_eq!(rollout.told("group_started"), 3, "{said}");
}

#[test]
fn a_failed_session_is_run_again_as_a_new_one() {
    // Fails the first time it sees a task.
    let script =
        format!("{GOOD}\nmkdir \"$SEEN/$(basename $VERBATIM_GROUP_ID)\" 2>/dev/null && exit 1\ntrue");
    let rollout = Rollout::new(&script, 1, 1, "");
    let seen = rollout.path("seen");
    std::fs::create_dir(&seen).unwrap();
    let output = rollout.command(&["--set", "rollout.retries=1"]).env("SEEN", &seen).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("2 (1 failed)"), "{}", text(&output));
    assert_eq!((rollout.rows()[0].len(), rollout.told("session_opened")), (1, 2));
}

#[test]
fn a_group_may_be_kept_with_some_of_its_sessions() {
    let script = format!("{GOOD}\nmkdir \"$SEEN/once\" 2>/dev/null && exit 1\ntrue");
    let rollout = Rollout::new(&script, 1, 3, "");
    let seen = rollout.path("seen");
    std::fs::create_dir(&seen).unwrap();
    let output = rollout.command(&["--set", "rollout.keep_at_least=2"]).env("SEEN", &seen).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(rollout.rows()[0].len(), 2);
}

fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

/// Task 0 finishes; all others hang, some of their processes out of reach of their group.
fn hanging(number: &str) -> String {
    format!(
        "{GOOD}\ngrep -q '\"number\":0' \"$VERBATIM_INPUT_JSON\" && exit 0\nsetsid sleep {number} & sleep {number}"
    )
}

#[test]
fn ctrl_c_keeps_finished_groups_and_leaves_no_process() {
    let rollout = Rollout::new(&hanging("7102.5"), 3, 1, "");
    let child = rollout.start(&[]);
    until("the first group is done and the others hang", || {
        names(&rollout.path("rows")).len() == 1 && alive("7102.5") == 4
    });
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert_eq!(alive("7102.5"), 0, "when it has ended, its agents have");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl"]);
    assert!(text(&output).contains("groups dropped: interrupted"), "{}", text(&output));
}

#[test]
fn killing_the_owner_kills_its_agents() {
    let rollout = Rollout::new(&hanging("7103.5"), 2, 2, "");
    let mut child = rollout.start(&[]);
    until("agents hang", || alive("7103.5") == 4);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    until("no agent is left", || alive("7103.5") == 0);
}

#[test]
fn steps_with_a_barrier_publish_every_group_and_log_each_move() {
    let rollout = Rollout::new(GOOD, 4, 2, "");
    let flags = ["mode=\"partial\"", "batch=2", "over_sampling=1", "barrier_seconds=20", "prelaunch=true"];
    let flags: Vec<_> =
        flags.iter().flat_map(|flag| ["--set".to_owned(), format!("rollout.{flag}")]).collect();
    let output = rollout.run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output));
    let names =
        ["step_opened", "group_started", "group_ready", "group_finalised", "group_finished", "step_closed"];
    let told = names.map(|name| rollout.told(name));
    assert_eq!(told, [2, 4, 4, 4, 4, 2], "{}", text(&output));
    assert_eq!((rollout.told("agent_started"), rollout.told("agent_ended")), (8, 8));
}

#[test]
fn modes_that_exclude_each_other_are_refused_by_name_before_anything_runs() {
    let rollout = Rollout::new(GOOD, 1, 1, "");
    let output = rollout.run(&["--set", "rollout.staleness=1"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("staleness is of mode async only"), "{}", text(&output));
    assert_eq!(rollout.told("group_started"), 0);
}
