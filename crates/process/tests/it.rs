//! When a process has ended, or its owner has, nothing that it started is alive.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use verbatim_process::{Exit, Inherit, Launcher, Process, ProcessError, Spec};

fn launcher() -> Launcher {
    Launcher::at(env!("CARGO_BIN_EXE_verbatim-launcher").into())
}

fn spec(folder: &Path, script: &str) -> Spec {
    Spec {
        argv: vec!["/bin/bash".into(), "-c".into(), script.into()],
        cwd: folder.to_owned(),
        env: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        inherit: Inherit::Except(vec!["HIDDEN_FROM_AGENTS".into()]),
        log: folder.join("log"),
        folder: None,
        grace_ms: 300,
    }
}

async fn start(folder: &Path, script: &str) -> Process {
    launcher().start(&spec(folder, script)).await.unwrap()
}

/// How many processes were started with this argument.
fn alive(argument: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
        .count()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_process_ends_with_its_code_and_its_output_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), "echo $GREETING from $PWD; echo oops >&2; exit 3").await;
    let exit = process.wait().await.unwrap();
    assert_eq!(exit, Exit { code: Some(3), signal: None, clean: true });
    assert_eq!(process.wait().await.unwrap(), exit, "asking again tells the same");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.starts_with("hello from /") && log.contains("oops"), "{log}");
}

#[tokio::test]
async fn what_a_process_leaves_behind_is_gone_when_it_is_told_to_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    // One stays in the process group, one leaves it, one leaves it and lets go of its parent too.
    let script = "sleep 7001.1 & setsid sleep 7001.2 & (setsid setsid sleep 7001.3 &) ; sleep 0.2; exit 0";
    let mut process = start(folder.path(), script).await;
    until("all three run", || [1, 2, 3].iter().all(|n| alive(&format!("7001.{n}")) == 1)).await;
    assert!(process.wait().await.unwrap().success());
    for n in [1, 2, 3] {
        assert_eq!(alive(&format!("7001.{n}")), 0, "escapee {n}");
    }
}

#[tokio::test]
async fn a_process_that_does_not_listen_is_killed_after_its_grace() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), "trap '' TERM; sleep 7002.1 & sleep 7002.2; sleep 7002.3").await;
    until("it runs", || alive("7002.2") == 1).await;
    let begun = Instant::now();
    let exit = process.end().await.unwrap();
    assert!(exit.clean && !exit.success(), "{exit:?}");
    assert!(begun.elapsed() >= Duration::from_millis(300), "it had its grace");
    assert_eq!((1..=3).map(|n| alive(&format!("7002.{n}"))).sum::<usize>(), 0);
}

#[tokio::test]
async fn a_process_may_clean_up_when_it_is_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = start(folder.path(), "trap 'echo bye; exit 7' TERM; sleep 7003.1 & wait").await;
    until("it runs", || alive("7003.1") == 1).await;
    assert_eq!(process.end().await.unwrap().code, Some(7));
    assert!(std::fs::read_to_string(folder.path().join("log")).unwrap().contains("bye"));
}

#[tokio::test]
async fn an_owner_that_lets_go_takes_everything_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let process = start(folder.path(), "setsid sleep 7004.1 & sleep 7004.2").await;
    until("both run", || alive("7004.1") + alive("7004.2") == 2).await;
    drop(process);
    until("both are gone", || alive("7004.1") + alive("7004.2") == 0).await;
}

#[tokio::test]
async fn a_shared_folder_is_there_until_its_owner_lets_go_or_is_gone() {
    // The process runs when its owner goes, or has ended before.
    for (script, lets_go) in
        [("sleep 7005.1", true), ("sleep 7005.1", false), ("exit 1", true), ("exit 1", false)]
    {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("session");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("input.json"), "{}").unwrap();
        let spec = Spec { folder: Some(folder.clone()), ..spec(home.path(), script) };
        let mut process = launcher().start(&spec).await.unwrap();
        if script == "exit 1" {
            process.wait().await.unwrap();
        } else if lets_go {
            process.end().await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(folder.exists(), "its owner reads what it left");
        if lets_go {
            process.close().await.unwrap();
            assert!(!folder.exists());
        } else {
            drop(process);
            until("process and folder are gone", || alive("7005.1") == 0 && !folder.exists()).await;
        }
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), "");
    spec.argv = vec!["/no/such/program".into()];
    match launcher().start(&spec).await {
        Err(ProcessError::Start { program, .. }) => assert_eq!(program, "/no/such/program"),
        other => panic!("{:?}", other.err()),
    }
}

#[tokio::test]
async fn of_its_owners_environment_a_process_may_get_named_variables_only() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec {
        inherit: Inherit::Only(vec!["PATH".into(), "NOT_THERE".into()]),
        ..spec(
            folder.path(),
            "env | cut -d= -f1 | grep -v '^_$\\|^PWD$\\|^SHLVL$\\|^OLDPWD$' | sort | tr '\\n' ' '",
        )
    };
    let mut process = launcher().start(&spec).await.unwrap();
    assert!(process.wait().await.unwrap().success());
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "GREETING PATH ");
}
