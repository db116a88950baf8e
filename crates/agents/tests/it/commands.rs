//! Commands: what they get, and what they may use.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use verbatim_agents::{AgentFailure, Command, Limits, Reward, Told, Way};

use crate::{run, told, until};

fn command(script: &str) -> Command {
    Command {
        command: script.into(),
        cwd: Path::new("/").into(),
        env: BTreeMap::from([("MINE".to_owned(), "yes".to_owned())]),
        inherit: None,
        limits: Limits::default(),
        grace: Duration::from_millis(500),
    }
}

#[tokio::test]
async fn a_command_finds_its_task_and_leaves_its_result() {
    let script = r#"test "$MINE" = yes && grep -q '"number":7' "$VERBATIM_INPUT_JSON" &&
        echo '{"reward": 0.5}' > "$VERBATIM_OUTPUT_JSON""#;
    assert_eq!(run(Way::Command(command(script))).await.unwrap().reward, Some(Reward::Number(0.5)));
}

#[tokio::test]
async fn of_our_environment_it_may_get_named_variables_only() {
    let script = r#"test -n "$PATH" && test -z "$CARGO_MANIFEST_DIR" && test -n "$OPENAI_API_KEY""#;
    let all = run(Way::Command(command(script))).await.unwrap_err();
    assert!(matches!(all, AgentFailure::Exit { .. }), "by default it gets ours: {all}");
    let inherit = Some(vec!["PATH".to_owned()]);
    run(Way::Command(Command { inherit, ..command(script) })).await.unwrap();
}

#[tokio::test]
async fn limits_hold_for_everything_that_it_starts_and_its_text_stays_as_it_is() {
    let script = "python3 -c 'bytearray(700 << 20)' || exit 9\n# a comment at the end";
    run(Way::Command(command(script))).await.unwrap();
    let limits = Limits { memory_mib: Some(500), files: Some(64), ..Limits::default() };
    match run(Way::Command(Command { limits, ..command(script) })).await.unwrap_err() {
        AgentFailure::Exit { exit, tail } => {
            assert_eq!((exit.code, tail.contains("MemoryError")), (Some(9), true), "{tail}");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_it_is_told_is_why_it_ended() {
    let when = || tokio::time::sleep(Duration::from_millis(300));
    let timed = told(Way::Command(command("echo begun; sleep 60")), Told::TimeUp, when()).await;
    assert!(
        matches!(&timed, AgentFailure::Timeout { seconds: 30, tail } if tail.contains("begun")),
        "{timed}"
    );
    let ended = told(Way::Command(command("sleep 60")), Told::End, when()).await;
    assert!(matches!(ended, AgentFailure::Cancelled));
    until("its processes are gone", || true).await;
}
