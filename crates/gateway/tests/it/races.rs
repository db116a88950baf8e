//! Several requests at once on one session.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Server, Setting, text, user};

fn slow() -> Setting {
    Setting::slow(Duration::from_millis(10))
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_at_once_are_siblings_in_a_tree() {
    let server = Server::with(slow(), [text("one two three")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")]});
    let replies = futures::future::join_all((0..4).map(|_| server.chat(&session, &body).send())).await;
    assert!(replies.into_iter().all(|reply| reply.unwrap().status() == StatusCode::OK));
    assert_eq!(server.committed(&session), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_at_once_on_a_line_are_one_turn_and_a_conflict() {
    let server = Server::with(slow(), [text("one two three")]).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let body = json!({"messages": [user("hi")]});
    let replies = futures::future::join_all((0..3).map(|_| server.turn(&session, &body))).await;
    let won = replies.iter().filter(|(status, _)| *status == StatusCode::OK).count();
    let lost: Vec<&(StatusCode, Value)> =
        replies.iter().filter(|(status, _)| *status != StatusCode::OK).collect();
    assert_eq!((won, server.committed(&session)), (1, 1));
    assert!(
        lost.iter()
            .all(|(status, reply)| *status == StatusCode::CONFLICT && reply["error"]["code"] == "raced")
    );
    assert_eq!(server.lost("raced"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_session_ends_what_is_in_flight_before_it_returns() {
    let server = Server::with(slow(), [text(&"word ".repeat(100))]).await;
    let session = server.open(json!({})).await;
    let reply = tokio::spawn(server.chat(&session, &json!({"messages": [user("hi")]})).send());
    server.until("the turn runs", |server| server.engine.running() == 1).await;
    let url = format!("{}/sessions/{session}", server.url);
    let closed = server.client.delete(&url).send().await.unwrap();
    assert_eq!((closed.status(), server.engine.running()), (StatusCode::NO_CONTENT, 0));
    let reply = reply.await.unwrap().unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.headers()["x-should-retry"], "true");
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["error"]["code"], "session_closed");
    assert_eq!(server.client.delete(&url).send().await.unwrap().status(), StatusCode::GONE);
    assert_eq!(server.turn(&session, &json!({"messages": [user("hi")]})).await.0, StatusCode::GONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_and_closing_under_pressure_leave_nothing_behind() {
    let server = Server::with(Setting::slow(Duration::from_millis(1)), [text("one two three")]).await;
    for _ in 0..10 {
        let session = server.open(json!({})).await;
        let body = json!({"messages": [user("hi")]});
        let chats = futures::future::join_all((0..5).map(|_| server.chat(&session, &body).send()));
        let close = async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            server.client.delete(format!("{}/sessions/{session}", server.url)).send().await
        };
        let (replies, closed) = futures::future::join(chats, close).await;
        assert_eq!(closed.unwrap().status(), StatusCode::NO_CONTENT);
        for reply in replies {
            let status = reply.unwrap().status();
            assert!(
                [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GONE].contains(&status),
                "{status}"
            );
        }
    }
    assert_eq!((server.engine.running(), server.sessions.len()), (0, 0));
    assert_eq!(server.sessions.dispatcher().load(), (0, 0));
}
