//! What turns are sampled with, and how much of it may be at the engine.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use verbatim_session::{Budget, Settings};

use crate::support::{Server, Setting, text, user};

fn with(change: impl FnOnce(&mut Settings)) -> Setting {
    let mut setting = Setting::default();
    change(&mut setting.settings);
    setting
}

async fn control(server: &Server, method: Method, route: &str, body: Value) -> (StatusCode, Value) {
    let asked = server.client.request(method, format!("{}/control/{route}", server.url)).json(&body);
    let reply = asked.send().await.unwrap();
    (reply.status(), reply.json().await.unwrap())
}

async fn lora(server: &Server, session: &str) -> Value {
    server.tree(session).await["lora"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stays_with_the_adapter_that_was_current_at_its_first_turn() {
    let server = Server::with(with(|settings| settings.adapters = true), [text("a")]).await;
    let [first, second] = [server.open(json!({})).await, server.open(json!({})).await];
    let (status, reply) = server.turn(&first, &json!({"messages": [user("hi")]})).await;
    assert_eq!((status, &reply["error"]["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("no_adapter")));
    assert_eq!(lora(&server, &first).await, Value::Null, "the base model does not stand in");

    control(&server, Method::POST, "adapters", json!({"name": "v1"})).await;
    server.says(&first, &[user("hi")]).await;
    let (_, published) = control(&server, Method::POST, "adapters", json!({"name": "v2"})).await;
    let expected = json!([
        {"name": "v1", "current": false, "sessions": 1}, {"name": "v2", "current": true, "sessions": 0},
    ]);
    assert_eq!(published["adapters"], expected);
    server.says(&first, &[user("and?")]).await;
    server.says(&second, &[user("hi")]).await;
    assert_eq!((lora(&server, &first).await, lora(&server, &second).await), (json!("v1"), json!("v2")));

    let remove = |name: &str| control(&server, Method::DELETE, "adapters", json!({"name": name}));
    for (name, status, code) in [
        ("v1", StatusCode::CONFLICT, "adapter_bound"),
        ("v2", StatusCode::CONFLICT, "adapter_current"),
        ("v3", StatusCode::NOT_FOUND, "no_such_adapter"),
    ] {
        let (told, reply) = remove(name).await;
        assert_eq!((told, &reply["error"]["code"]), (status, &json!(code)));
    }
    server.client.delete(format!("{}/sessions/{first}", server.url)).send().await.unwrap();
    let (status, left) = remove("v1").await;
    assert_eq!((status, left["adapters"].as_array().map(Vec::len)), (StatusCode::OK, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn adapters_are_refused_where_nobody_samples_with_them() {
    let server = Server::saying([text("a")]).await;
    let (status, reply) = control(&server, Method::POST, "adapters", json!({"name": "v1"})).await;
    assert_eq!((status, &reply["error"]["param"]), (StatusCode::BAD_REQUEST, &json!("name")));
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_of_one_policy_version_are_not_read_under_another() {
    for salted in [true, false] {
        let server = Server::with(with(|settings| settings.salted = salted), [text("a")]).await;
        let session = server.open(json!({})).await;
        server.says(&session, &[user("hi")]).await;
        control(&server, Method::POST, "begin_update", json!({})).await;
        let (status, reply) = control(&server, Method::POST, "end_update", json!({"version": "7"})).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        server.says(&session, &[user("and?")]).await;
        let salts: Vec<_> = server.attempts().into_iter().map(|attempt| attempt.salt).collect();
        let expected = if salted { [Some("0".into()), Some("7".into())] } else { [None, None] };
        assert_eq!(salts, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_wait_for_room_in_tokens_though_permits_are_free() {
    let long = text(&"word ".repeat(20));
    let budget = Budget { tokens: 1, patience: Duration::from_secs(30) };
    let mut setting = Setting::slow(Duration::from_millis(20));
    setting.settings.budget = Some(budget);
    let server = Server::with(setting, [long]).await;
    let mut replies = Vec::new();
    for _ in 0..3 {
        let session = server.open(json!({})).await;
        replies.push(tokio::spawn(server.chat(&session, &json!({"messages": [user("hi")]})).send()));
    }
    server.until("one runs", |server| server.engine.running() == 1).await;
    let mut most = 0;
    while server.attempts().len() < 3 {
        most = most.max(server.engine.running());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(most, 1, "each is larger than the budget, and runs alone");
    for reply in replies {
        assert_eq!(reply.await.unwrap().unwrap().status(), StatusCode::OK);
    }
}
