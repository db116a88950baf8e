//! Deadlines, deaths and ends.

use std::io::BufRead;
use std::process::{Command, Stdio};

use super::*;

fn deadline(result: Result<(Value, Bytes), PluginError>) -> bool {
    matches!(result, Err(PluginError::Deadline { .. }))
}

#[tokio::test]
async fn an_async_callable_that_overruns_is_cancelled_and_its_worker_lives() {
    let host = host(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let naps = loaded(&host, Kind::Reward, "naps").await;
    let before = call(&naps, json!([0])).await.unwrap();
    let agent = loaded(&host, Kind::Agent, "sleeps").await;
    let value = json!({"base_url": "", "prompt": [], "request_kwargs": {}, "metadata": {"file": file}});
    assert!(deadline(agent.call_within(Duration::from_millis(400), value, Bytes::new()).await));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "cancelled");
    assert_eq!(call(&naps, json!([0])).await.unwrap(), before);
}

#[tokio::test]
async fn an_async_callable_that_clings_loses_its_worker() {
    let host = host(1).await;
    let naps = loaded(&host, Kind::Reward, "naps").await;
    let before = call(&naps, json!([0])).await.unwrap();
    let agent = loaded(&host, Kind::Agent, "clings").await;
    let value = json!({"base_url": "", "prompt": [], "request_kwargs": {}, "metadata": {}});
    assert!(deadline(agent.call_within(Duration::from_millis(200), value, Bytes::new()).await));
    assert_ne!(call(&naps, json!([0])).await.unwrap(), before);
}

#[tokio::test]
async fn a_sync_callable_that_overruns_is_killed_and_the_others_are_called_again() {
    let host = host(1).await;
    let [hangs, naps] =
        [loaded(&host, Kind::Reward, "hangs").await, loaded(&host, Kind::Reward, "naps").await];
    let before = call(&naps, json!([0])).await.unwrap();
    let (overran, other) = tokio::join!(
        hangs.call_within(Duration::from_millis(300), json!({"args": []}), Bytes::new()),
        call(&naps, json!([0.6])),
    );
    assert!(deadline(overran));
    assert_ne!(other.unwrap(), before, "made again in a new worker, where it is still loaded");
}

#[tokio::test]
async fn an_agent_that_loses_its_worker_fails_by_name_and_is_not_run_again() {
    let host = host(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let agent = loaded(&host, Kind::Agent, "agent_dies").await;
    let value = json!({"base_url": "", "prompt": [], "request_kwargs": {}, "metadata": {"file": file}});
    let error = agent.call(value, Bytes::new()).await.unwrap_err();
    let PluginError::Died { kind, path, reason } = &error else { panic!("{error}") };
    assert_eq!((kind.as_str(), path.as_str()), ("agent", "plug:agent_dies"));
    assert!(reason.contains("exit code 3") && reason.contains("last words"), "{reason}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "run ");
}

#[tokio::test]
async fn a_call_that_loses_two_workers_fails_by_name() {
    let host = host(1).await;
    let dies = loaded(&host, Kind::Reward, "dies").await;
    let error = call(&dies, json!([])).await.unwrap_err();
    assert!(matches!(&error, PluginError::Died { path, .. } if path.as_str() == "plug:dies"), "{error}");
    let total = loaded(&host, Kind::Reward, "total").await;
    assert_eq!(call(&total, json!([1])).await.unwrap(), json!(1), "the host goes on");
}

#[tokio::test]
async fn a_worker_that_dies_is_started_again_and_the_call_made_again() {
    let host = host(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("died");
    let plugin = loaded(&host, Kind::Reward, "dies_once").await;
    assert_eq!(call(&plugin, json!([file])).await.unwrap(), "alive");
    assert!(file.exists());
}

#[tokio::test]
async fn a_closed_host_leaves_nothing_behind() {
    let host = host(2).await;
    let spawns = loaded(&host, Kind::Reward, "spawns").await;
    for argument in ["7101.1", "7101.2", "7101.3"] {
        call(&spawns, json!([argument])).await.unwrap();
    }
    until("all three run", || ["7101.1", "7101.2", "7101.3"].map(alive) == [1, 1, 1]);
    host.close().await;
    assert_eq!(["7101.1", "7101.2", "7101.3"].map(alive), [0, 0, 0]);
    assert!(matches!(call(&spawns, json!(["7101.4"])).await, Err(PluginError::Closed)));
}

#[test]
fn when_the_owner_is_killed_its_workers_and_what_they_started_die() {
    let paths = std::env::join_paths(options().search_paths).unwrap();
    let mut owner = Command::new(OWNER)
        .args(["reward", "plug:spawns", r#"{"args": ["7102.1"]}"#])
        .env("PYTHONPATH", paths)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let worker: u32 = line.trim().parse().unwrap_or_else(|_| panic!("{line}"));
    until("it runs", || alive("7102.1") == 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the escapee is gone", || alive("7102.1") == 0);
    until("the worker is gone", || !Path::new(&format!("/proc/{worker}")).exists());
}

#[tokio::test]
async fn calls_go_to_the_worker_that_has_least_to_do() {
    let host = host(2).await;
    let naps = loaded(&host, Kind::Reward, "naps").await;
    let (one, other) = tokio::join!(call(&naps, json!([0.5])), call(&naps, json!([0.5])));
    assert_ne!(one.unwrap(), other.unwrap());
}

#[tokio::test]
async fn while_no_worker_comes_up_calls_fail_by_what_is_wrong_and_later_ones_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    let write = || {
        std::fs::write(&python, "#!/bin/sh\nexec python3 \"$@\"\n").unwrap();
        std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    write();
    let quick = HostOptions {
        python: python.to_str().unwrap().to_owned(),
        workers: 1,
        backoff_most: Duration::from_millis(200),
        ..options()
    };
    let host = Host::start(quick).await.unwrap();
    let [dies, total] =
        [loaded(&host, Kind::Reward, "dies").await, loaded(&host, Kind::Reward, "total").await];
    std::fs::remove_file(&python).unwrap();
    let error = call(&dies, json!([])).await.unwrap_err();
    assert!(error.to_string().contains("cannot start the Python interpreter"), "{error}");
    write();
    let begun = Instant::now();
    while call(&total, json!([1])).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never came up again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_large_passes_whole() {
    let host = host(1).await;
    let echo = loaded(&host, Kind::Reward, "echo").await;
    let text = "é".repeat(8 << 20);
    assert_eq!(call(&echo, json!([text])).await.unwrap(), json!(text));
}

#[tokio::test]
async fn a_host_closes_at_once_while_its_worker_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let slow = HostOptions {
        workers: 1,
        backoff: Duration::from_secs(60),
        backoff_most: Duration::from_secs(60),
        ..options()
    };
    let host = Host::start(slow).await.unwrap();
    let file = folder.path().join("died");
    let plugin = loaded(&host, Kind::Reward, "dies_once").await;
    let waiting = tokio::spawn(async move { call(&plugin, json!([file])).await });
    tokio::time::sleep(Duration::from_millis(700)).await;
    let begun = Instant::now();
    host.close().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(matches!(waiting.await.unwrap(), Err(PluginError::Closed | PluginError::Died { .. })));
}
