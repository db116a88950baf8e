//! Python functions, in real interpreters.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, json};
use verbatim_agents::{AgentFailure, Function, Reward, Told, Way};
use verbatim_plugins::{Agent as Plugin, Host, HostOptions};

use crate::{launcher, root, run, told, until};

async fn host() -> Host {
    let options = HostOptions {
        search_paths: vec![root().join("python"), root().join("crates/agents/tests/it/py")],
        launcher: Some(launcher()),
        cancel_grace: Duration::from_millis(500),
        workers: 1,
        ..HostOptions::default()
    };
    Host::start(options).await.unwrap()
}

async fn function(host: &Host, name: &str, folder: &Path) -> Way {
    let plugin = Plugin::load(host, &format!("acts:{name}")).await.unwrap();
    let request_kwargs = json!({"temperature": 0.5, "folder": folder});
    Way::Function(Function { plugin, request_kwargs: request_kwargs.as_object().unwrap().clone() })
}

#[tokio::test]
async fn a_function_is_given_its_session_and_its_dict_is_the_output() {
    let (host, folder) = (host().await, tempfile::tempdir().unwrap());
    let output = run(function(&host, "solves", folder.path()).await).await.unwrap();
    assert_eq!(output.reward, Some(Reward::Number(1.0)));
    let told = json!({
        "said": "hi", "url": "http://127.0.0.1:9/sessions/token-1", "number": 7,
        "kwargs": {"temperature": 0.5, "folder": folder.path()},
        "extra": ["api_key", "group_id", "mode", "model", "session_id"],
    });
    assert_eq!(output.metadata, *told.as_object().unwrap());
    let plain = run(function(&host, "solves_plainly", folder.path()).await).await.unwrap();
    assert_eq!(plain.metadata["api_key"], "token-1", "it gets what it has parameters for");
    let nothing = run(function(&host, "returns_nothing", folder.path()).await).await.unwrap();
    assert_eq!((nothing.reward, nothing.metadata), (None, Map::new()));
    let records = run(function(&host, "exports", folder.path()).await).await.unwrap().records.unwrap();
    assert_eq!((records[0].name.as_str(), &records[0].reward), ("main", &Some(Reward::Number(0.5))));
}

#[tokio::test]
async fn what_a_function_does_wrong_is_its_own_failure() {
    let (host, folder) = (host().await, tempfile::tempdir().unwrap());
    let raised = run(function(&host, "raises", folder.path()).await).await.unwrap_err();
    assert!(
        matches!(raised, AgentFailure::Function(_)) && raised.to_string().contains("no such tool"),
        "{raised}"
    );
    let listed = run(function(&host, "returns_a_list", folder.path()).await).await.unwrap_err();
    assert!(matches!(listed, AgentFailure::Output(_)) && listed.to_string().contains("list"), "{listed}");
}

#[tokio::test]
async fn an_async_function_that_is_told_to_end_is_cancelled_and_its_abort_called() {
    let (host, folder) = (host().await, tempfile::tempdir().unwrap());
    let (begun, cancelled) = (folder.path().join("begun"), folder.path().join("cancelled"));
    let hangs = function(&host, "hangs", folder.path()).await;
    let timed = told(hangs, Told::TimeUp, until("it has begun", || begun.exists())).await;
    assert!(matches!(timed, AgentFailure::Timeout { seconds: 30, .. }), "{timed}");
    assert!(cancelled.exists(), "it had its time to clear up");
    let aborted = run(function(&host, "aborted", folder.path()).await).await.unwrap();
    assert_eq!(aborted.metadata["aborted"], json!([["session-1", "time_up"]]), "in the same worker");
}

#[tokio::test]
async fn a_plain_function_that_is_told_to_end_loses_its_worker_and_another_one_serves() {
    let (host, folder) = (host().await, tempfile::tempdir().unwrap());
    let begun = folder.path().join("begun");
    let hangs = function(&host, "hangs_plainly", folder.path()).await;
    let start = Instant::now();
    let ended = told(hangs, Told::End, until("it has begun", || begun.exists())).await;
    assert!(matches!(ended, AgentFailure::Cancelled), "{ended}");
    assert!(start.elapsed() < Duration::from_secs(20), "nobody waits for its minute");
    run(function(&host, "solves", folder.path()).await).await.unwrap();
}
