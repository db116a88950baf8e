//! Sessions that outlive their server.
//!
//! A crash is an image: the journal's files as they lie at one moment, taken by another server.

use std::path::Path;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Server, Setting, text};

/// The folder as a server that was killed now would leave it.
pub(crate) fn image(folder: &Path) -> TempDir {
    let image = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), image.path().join(file.file_name())).unwrap();
    }
    image
}

async fn on(folder: &Path, lines: &[&str]) -> Server {
    let setting = Setting { journal: Some(folder.to_owned()), ..Setting::default() };
    Server::with(setting, lines.iter().map(|line| text(line))).await
}

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

/// What a session is and what it yields, but for what a server says of itself.
async fn all_of(server: &Server, token: &str) -> (Value, Value) {
    let url = format!("{}/sessions/{token}/samples", server.url);
    let asked = json!({"format": "jsonl", "pick": "all"});
    let rows = server.client.post(url).json(&asked).send().await.unwrap().text().await.unwrap();
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    (server.tree(token).await, rows)
}

#[tokio::test]
async fn what_was_there_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = on(folder.path(), &["one", "two", "three", "four", "five"]).await;
    let tree = server.open(json!({"lineage": "tree", "matcher": "strict", "group": "g"})).await;
    let first = server.says(&tree, &[user("a")]).await;
    server.says(&tree, &[user("a"), first.clone(), user("b")]).await;
    server.says(&tree, &[user("a"), first.clone(), user("otherwise")]).await;
    let linked = server.open(json!({})).await;
    let (status, reply) = server.post(&linked, "responses", &json!({"input": "hello"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let over = server.open(json!({})).await;
    server.says(&over, &[user("gone")]).await;
    let url = format!("{}/sessions/{over}", server.url);
    assert_eq!(server.client.delete(&url).send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let idle = server.open(json!({"lineage": "linear"})).await;

    let crashed = image(folder.path());
    let again = on(crashed.path(), &["later"]).await;
    for token in [&tree, &linked, &idle] {
        assert_eq!(all_of(&again, token).await, all_of(&server, token).await);
    }
    let url = format!("{}/sessions/{over}", again.url);
    assert_eq!(again.client.get(&url).send().await.unwrap().status(), StatusCode::GONE);

    // They go on: from a branch, and from a reply by its id.
    again
        .says(
            &tree,
            &[user("a"), first, user("b"), json!({"role": "assistant", "content": "two"}), user("c")],
        )
        .await;
    let follows = json!({"input": "and", "previous_response_id": reply["id"]});
    let (status, followed) = again.post(&linked, "responses", &follows).await;
    assert_eq!(status, StatusCode::OK, "{followed}");
    let attempts = again.attempts();
    let before: Vec<_> = server.attempts();
    assert!(attempts[0].prompt.starts_with(&[before[1].prompt.clone(), before[1].said.clone()].concat()));
    assert!(attempts[1].prompt.starts_with(&[before[3].prompt.clone(), before[3].said.clone()].concat()));
    assert_eq!(again.lost("rerooted") + again.lost("forked"), 0);

    // And once more, from an image of an image.
    let twice = image(crashed.path());
    let third = on(twice.path(), &["even later"]).await;
    for token in [&tree, &linked, &idle] {
        assert_eq!(all_of(&third, token).await, all_of(&again, token).await);
    }
}

#[tokio::test]
async fn a_turn_after_ids_comes_back_and_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let server = on(folder.path(), &["one"]).await;
    let token = server.open(json!({})).await;
    let (status, first) = server.post(&token, "tokens", &json!({"input_ids": [9, 8]})).await;
    assert_eq!(status, StatusCode::OK, "{first}");
    let crashed = image(folder.path());
    let again = on(crashed.path(), &["two"]).await;
    assert_eq!(all_of(&again, &token).await, all_of(&server, &token).await);
    let said: Vec<u32> = serde_json::from_value(first["output_ids"].clone()).unwrap();
    let longer = [&[9, 8][..], &said, &[5]].concat();
    let (status, reply) = again.post(&token, "tokens", &json!({"input_ids": longer})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let session = again.sessions.get(&token).unwrap();
    let nodes = |of_roots: bool| {
        session.with_forest(|forest| {
            forest.nodes().filter(|(_, node)| !of_roots || node.parent.is_none()).count()
        })
    };
    assert_eq!((nodes(false), nodes(true)), (4, 1), "two turns in one root");
}

#[tokio::test]
async fn a_reply_that_was_lost_comes_when_it_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = on(folder.path(), &["one", "two"]).await;
    let session = server.open(json!({})).await;
    let first = json!({"messages": [user("a")]});
    let (_, one) = server.turn(&session, &first).await;
    let said = &one["choices"][0]["message"];
    let second = json!({"messages": [user("a"), said, user("b")]});
    let (_, two) = server.turn(&session, &second).await;

    let crashed = image(folder.path());
    let again = on(crashed.path(), &["new"]).await;
    let (status, replayed) = again.turn(&session, &second).await;
    assert_eq!((status, &replayed["id"]), (StatusCode::OK, &two["id"]));
    assert_eq!(replayed["choices"], two["choices"]);
    assert!(again.attempts().is_empty(), "nothing was sampled for it");
    // Its client has it now, and whoever went on after the first reply had that one: the same bytes are another turn.
    for body in [&second, &first] {
        let (status, fresh) = again.turn(&session, body).await;
        assert_eq!(status, StatusCode::OK);
        assert!(fresh["id"] != one["id"] && fresh["id"] != two["id"], "{fresh}");
    }
    assert_eq!(again.committed(&session), 4);
}

#[tokio::test]
async fn a_request_with_a_key_is_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = on(folder.path(), &["one"]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("a")]});
    let keyed = |server: &Server, body: &Value| server.chat(&session, body).header("Idempotency-Key", "k");
    let first: Value = keyed(&server, &body).send().await.unwrap().json().await.unwrap();
    let crashed = image(folder.path());
    let again = on(crashed.path(), &["new"]).await;
    for _ in 0..2 {
        let reply: Value = keyed(&again, &body).send().await.unwrap().json().await.unwrap();
        assert_eq!(reply["id"], first["id"]);
    }
    let other = keyed(&again, &json!({"messages": [user("b")]})).send().await.unwrap();
    assert_eq!(other.status(), StatusCode::BAD_REQUEST, "the key is another request's");
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("journal");
    let server = on(&inner, &["a reply that takes up some of a small segment"]).await;
    let session = server.open(json!({})).await;
    server.says(&session, &[user("a")]).await;
    // No other segment can be made.
    std::fs::remove_dir_all(&inner).unwrap();
    let mut told = 1;
    let refused = loop {
        let (status, reply) = server.turn(&session, &json!({"messages": [user(&format!("{told}"))]})).await;
        if status != StatusCode::OK {
            break (status, reply["error"]["code"].clone());
        }
        told += 1;
        assert!(told < 1000, "the segment is never full");
    };
    assert_eq!(refused, (StatusCode::SERVICE_UNAVAILABLE, json!("journal_failed")));
    let (status, _) = server.turn(&session, &json!({"messages": [user("another")]})).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.lost("unkept"), 2);
    // Rows might hold the turn that was refused, and a session that is opened now would be forgotten.
    let url = format!("{}/sessions/{session}/samples", server.url);
    assert_eq!(server.client.post(url).send().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    let url = format!("{}/sessions", server.url);
    assert_eq!(server.client.post(url).send().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
}
