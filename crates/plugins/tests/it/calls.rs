//! What a call gives.

use futures::future::join_all;
use serde_json::Map;
use verbatim_plugins::{Agent, Matcher, Task};

use super::*;

fn message(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn task(metadata: Map<String, Value>) -> Task {
    Task {
        base_url: "http://here/sessions/x".into(),
        prompt: json!([message("hi")]),
        metadata,
        kwargs: json!({"api_key": "k", "flavour": "sour"}).as_object().unwrap().clone(),
        ..Task::default()
    }
}

#[tokio::test]
async fn a_matcher_judges_pairs_whatever_it_prints() {
    let host = host(1).await;
    let matcher = Matcher::load(&host, "plug:same").await.unwrap();
    for _ in 0..3 {
        let pairs =
            [(message("a"), message("a")), (message("a"), message("b")), (message("é"), message("é"))];
        assert_eq!(matcher.judge(&pairs).await.unwrap(), [true, false, true]);
    }
    assert!(matcher.judge(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_verdict_is_a_bool_and_nothing_else() {
    let host = host(1).await;
    let matcher = Matcher::load(&host, "plug:truthy").await.unwrap();
    let error = matcher.judge(&[(message("a"), message("a"))]).await.unwrap_err();
    assert_eq!(cause(&error), Cause::BadResult);
    assert!(error.to_string().contains("must return bool, it returned int"), "{error}");
}

#[tokio::test]
async fn an_error_shows_the_users_traceback_and_not_the_hosts() {
    let host = host(1).await;
    let matcher = Matcher::load(&host, "plug:raises").await.unwrap();
    let error = matcher.judge(&[(message("x"), message("x"))]).await.unwrap_err();
    assert_eq!(cause(&error), Cause::Raised);
    let text = error.to_string();
    assert!(text.contains("LookupError: no such thing: x"), "{text}");
    assert!(text.contains("plug.py") && text.contains("in raises"), "{text}");
    assert!(!text.contains("verbatim/host"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_told_and_what_wants_to_quit_are_errors_of_the_call() {
    let host = host(1).await;
    let plugin = loaded(&host, Kind::Reward, "not_json").await;
    assert_eq!(cause(&call(&plugin, json!([])).await.unwrap_err()), Cause::BadResult);
    let plugin = loaded(&host, Kind::Reward, "quits").await;
    assert_eq!(cause(&call(&plugin, json!([])).await.unwrap_err()), Cause::Raised);
}

#[tokio::test]
async fn agents_run_async_or_not_and_get_what_they_have_parameters_for() {
    let host = host(1).await;
    let agent = Agent::load(&host, "plug:run_agent").await.unwrap();
    let result = agent.run(task(Map::new()), Duration::from_secs(20)).await.unwrap().unwrap();
    assert_eq!(result["url"], "http://here/sessions/x");
    assert_eq!(result["said"], "hi");
    assert_eq!(result["extra"], json!(["api_key", "flavour"]));
    let agent = Agent::load(&host, "plug:sync_agent").await.unwrap();
    let result = agent.run(task(Map::new()), Duration::from_secs(20)).await.unwrap().unwrap();
    assert_eq!(result["flavour"], "sour");
}

#[tokio::test]
async fn abort_is_called_where_there_is_one() {
    let host = host(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("aborted");
    let args = json!({"file": file, "word": "once"}).as_object().unwrap().clone();
    let agent = Agent::load(&host, "plug:run_agent").await.unwrap();
    assert!(agent.abort(args).await.unwrap());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "once");
    let other = Agent::load(&host, "json:loads").await.unwrap();
    assert!(!other.abort(Map::new()).await.unwrap());
}

#[tokio::test]
async fn two_hundred_calls_at_once_all_get_their_own_answer() {
    let host = host(3).await;
    let [fast, slow] =
        [loaded(&host, Kind::Reward, "total").await, loaded(&host, Kind::Reward, "slow_total").await];
    assert!(slow.is_async() && !fast.is_async());
    let asked = (0..200).map(|n| {
        let plugin = if n % 2 == 0 { &fast } else { &slow };
        async move { call(plugin, json!([n, 1])).await.unwrap() }
    });
    let got = join_all(asked).await;
    assert_eq!(got, (1..=200).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn dropping_a_call_cancels_an_async_agent_and_its_worker_lives() {
    let host = host(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let agent = Agent::load(&host, "plug:sleeps").await.unwrap();
    let quick = Agent::load(&host, "plug:run_agent").await.unwrap();
    let pid =
        async || quick.run(task(Map::new()), Duration::from_secs(20)).await.unwrap().unwrap()["pid"].clone();
    let before = pid().await;
    let metadata = json!({ "file": file }).as_object().unwrap().clone();
    let running = tokio::spawn(async move { agent.run(task(metadata), Duration::from_secs(60)).await });
    let reads = |word: &str| std::fs::read_to_string(&file).is_ok_and(|text| text == word);
    while !reads("begun") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    let begun = Instant::now();
    while !reads("cancelled") {
        assert!(begun.elapsed() < Duration::from_secs(10), "it was never cancelled");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(pid().await, before);
}
