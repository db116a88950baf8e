//! Tasks of a service elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use verbatim_agents::{AgentFailure, Remote, RemoteError, RemoteOptions, Reward, Slots, Told, Way};

use crate::service::{Known, Shared, start};
use crate::{run, told, until};

fn options(url: &str) -> RemoteOptions {
    RemoteOptions {
        url: url.into(),
        key: Some("key".into()),
        poll: Duration::from_millis(20),
        deadline: Duration::from_secs(5),
        failures: 2,
        grace: Duration::from_secs(2),
    }
}

async fn service(known: Known) -> (Shared, Remote) {
    let known: Shared = Arc::new(Mutex::new(known));
    let url = start(Arc::clone(&known)).await;
    (known, Remote::new(options(&url)).unwrap())
}

fn solved() -> Value {
    json!({"status": "succeeded", "output": {"reward": 1, "steps": 3}})
}

#[tokio::test]
async fn a_task_is_posted_watched_and_read() {
    let (known, remote) = service(Known { result: solved(), ..Known::default() }).await;
    assert_eq!(remote.slots().await.unwrap(), Slots { total: 3, free: 1 });
    let output = run(Way::Remote(remote)).await.unwrap();
    assert_eq!((output.reward, &output.metadata["steps"]), (Some(Reward::Number(1.0)), &json!(3)));
    let known = known.lock().unwrap();
    let (task, _) = &known.tasks["task-session-1"];
    let expected = json!({
        "session_id": "session-1", "base_url": "http://127.0.0.1:9/sessions/token-1/v1", "api_key": "token-1",
        "model": "model", "group": "train:7", "mode": "train",
        "input": {"messages": [{"role": "user", "content": "hi"}], "metadata": {"number": 7}},
    });
    assert_eq!(*task, expected);
    assert_eq!(known.heard[..2], ["POST", "GET"]);
}

#[tokio::test]
async fn a_failed_task_is_the_agents_failure() {
    let result = json!({"status": "failed", "error": "the tests did not run"});
    let (_, remote) = service(Known { result, ..Known::default() }).await;
    let failed = run(Way::Remote(remote)).await.unwrap_err();
    assert!(matches!(&failed, AgentFailure::Remote(said) if said == "the tests did not run"), "{failed}");
}

#[tokio::test]
async fn failures_in_a_row_are_bounded_and_the_services_own() {
    // Of both requests two fail, and the third is answered. A service without a slot has not failed.
    let refuse = vec![500, 502, 429, 500, 503, 429, 500, 500];
    let (known, remote) = service(Known { result: solved(), refuse, ..Known::default() }).await;
    run(Way::Remote(remote.clone())).await.unwrap();
    assert_eq!(known.lock().unwrap().tasks.len(), 1, "posted again, it is the same task");

    known.lock().unwrap().refuse = vec![500; 3];
    let lost = run(Way::Remote(remote.clone())).await.unwrap_err();
    assert!(matches!(lost, AgentFailure::Service(RemoteError::Refused { status: 500, .. })), "{lost}");
    known.lock().unwrap().refuse = vec![422];
    let refused = run(Way::Remote(remote)).await.unwrap_err();
    assert!(matches!(refused, AgentFailure::Service(RemoteError::Refused { status: 422, .. })), "{refused}");
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_or_makes_no_sense_is_named() {
    let gone = Remote::new(RemoteOptions { failures: 0, ..options("http://127.0.0.1:9") }).unwrap();
    let lost = run(Way::Remote(gone)).await.unwrap_err();
    assert!(matches!(lost, AgentFailure::Service(RemoteError::Lost { what: "POST /tasks", .. })), "{lost}");
    let error = Remote::new(options("ftp://agents.example")).unwrap_err().to_string();
    assert!(error.contains("agent.url") && error.contains("http://"), "{error}");
    let result = json!({"status": "succeeded", "output": {"records": []}});
    let (_, remote) = service(Known { result, ..Known::default() }).await;
    let empty = run(Way::Remote(remote)).await.unwrap_err();
    assert!(matches!(empty, AgentFailure::Output(_)), "{empty}");
}

#[tokio::test]
async fn a_task_that_is_told_to_end_is_cancelled_and_seen_to_its_end() {
    let known = Known { cancelled: Some(json!({"status": "cancelled"})), ..Known::default() };
    let (known, remote) = service(known).await;
    let runs = until("it runs", || known.lock().unwrap().heard.len() > 3);
    let ended = told(Way::Remote(remote), Told::End, runs).await;
    assert!(matches!(ended, AgentFailure::Cancelled), "{ended}");
    let known = known.lock().unwrap();
    assert_eq!(known.tasks["task-session-1"].1["status"], "cancelled");
    assert_eq!(known.heard.iter().filter(|heard| *heard == "DELETE").count(), 1);
    assert_eq!(known.heard.last().unwrap(), "GET", "its end was seen");
}

#[tokio::test]
async fn a_task_that_will_not_end_is_left_after_its_grace() {
    let (known, remote) = service(Known::default()).await;
    let runs = until("it runs", || known.lock().unwrap().heard.len() > 3);
    let begun = std::time::Instant::now();
    let ended = told(Way::Remote(remote), Told::TimeUp, runs).await;
    assert!(matches!(ended, AgentFailure::Timeout { seconds: 30, .. }), "{ended}");
    assert!((2..10).contains(&begun.elapsed().as_secs()));
}
