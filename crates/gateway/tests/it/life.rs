//! A session's life: how many there may be, how much they may hold, and what is said of one that is over.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use verbatim_dialects::Sampling;
use verbatim_gateway::{Access, IpNet, Limits};
use verbatim_session::{Quota, Settings};

use crate::support::{Server, Setting, text, user};

fn with_quota(quota: Quota) -> Setting {
    let usual = Setting::default();
    Setting { settings: Settings { quota, ..usual.settings }, ..usual }
}

async fn refused(server: &Server, session: &str) -> (StatusCode, Value) {
    let (status, reply) = server.turn(session, &json!({"messages": [user("hi")]})).await;
    (status, reply["error"]["code"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_never_was_is_404_and_one_that_was_deleted_410() {
    let server = Server::saying([text("a")]).await;
    let unknown = "0".repeat(32);
    assert_eq!(refused(&server, &unknown).await, (StatusCode::NOT_FOUND, json!("session_not_found")));
    let session = server.open(json!({})).await;
    let delete = || server.client.delete(format!("{}/sessions/{session}", server.url)).send();
    assert_eq!(delete().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(refused(&server, &session).await, (StatusCode::GONE, json!("session_deleted")));
    assert_eq!(delete().await.unwrap().status(), StatusCode::GONE);
    let samples =
        server.client.post(format!("{}/sessions/{session}/samples", server.url)).send().await.unwrap();
    assert_eq!(samples.status(), StatusCode::GONE);
    assert_eq!(samples.headers()["x-should-retry"], "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_left_alone_is_reclaimed_and_one_in_use_is_not() {
    let idle = Duration::from_millis(400);
    let mut setting = with_quota(Quota { idle: Some(idle), ..Quota::default() });
    setting.options.latency = Setting::slow(Duration::from_millis(200)).options.latency;
    let server = Server::with(setting, [text("a b c d e f g h")]).await;
    let left = server.open(json!({})).await;
    let used = server.open(json!({})).await;
    // This turn alone takes longer than a session may be left alone.
    let (status, _) = server.turn(&used, &json!({"messages": [user("hi")]})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(refused(&server, &left).await, (StatusCode::GONE, json!("session_expired")));
    assert_eq!(server.lost("session_expired"), 1);
    server.until("the other one is left alone, too", |server| server.sessions.is_empty()).await;
    assert_eq!(server.lost("session_expired"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_sessions_than_may_be_are_503_until_one_is_gone() {
    let server = Server::with(with_quota(Quota { sessions: Some(2), ..Quota::default() }), [text("a")]).await;
    let first = server.open(json!({})).await;
    server.open(json!({})).await;
    let open = || server.client.post(format!("{}/sessions", server.url)).send();
    let full = open().await.unwrap();
    assert_eq!(
        (full.status(), &full.headers()["x-should-retry"]),
        (StatusCode::SERVICE_UNAVAILABLE, &"true".parse().unwrap())
    );
    let full: Value = full.json().await.unwrap();
    assert_eq!(full["error"]["code"], "too_many_sessions");
    server.sessions.close(&first).await.unwrap();
    assert_eq!(open().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_holds_all_it_may_takes_no_more_turns_and_keeps_its_rows() {
    let limit = 20_000;
    let server =
        Server::with(with_quota(Quota { session_bytes: Some(limit), ..Quota::default() }), [text("a")]).await;
    let session = server.open(json!({})).await;
    let mut messages = vec![user(&"word ".repeat(500))];
    let mut turns = 0;
    let refusal = loop {
        let (status, reply) = server.turn(&session, &json!({"messages": messages})).await;
        if status != StatusCode::OK {
            break (status, reply);
        }
        turns += 1;
        messages.push(reply["choices"][0]["message"].clone());
        messages.push(user(&"word ".repeat(500)));
        assert!(turns < 50, "never full");
    };
    assert_eq!(
        (refusal.0, &refusal.1["error"]["code"]),
        (StatusCode::PAYLOAD_TOO_LARGE, &json!("session_full"))
    );
    assert!(turns > 1);
    assert_eq!(server.committed(&session), turns);
    let held = server.sessions.get(&session).unwrap().with_forest(|forest| forest.stored_bytes());
    assert!((limit..limit + 10_000).contains(&held), "{held}");
    let rows = server.client.post(format!("{}/sessions/{session}/samples", server.url)).send().await.unwrap();
    assert_eq!(rows.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_parameters_win_and_what_they_override_is_counted() {
    let mut setting = Setting::default();
    setting.settings.pinned = Sampling { temperature: Some(1.0), max_tokens: Some(2), ..Sampling::default() };
    let server = Server::with(setting, [text("one two three four five")]).await;
    let session = server.open(json!({})).await;
    for (asked, overridden) in [(json!(0.2), 1), (json!(1.0), 1), (json!(null), 1)] {
        let body = json!({"messages": [user("hi")], "temperature": asked});
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!((status, &reply["usage"]["completion_tokens"]), (StatusCode::OK, &json!(2)));
        assert_eq!(server.lost("overridden"), overridden);
    }
    let session = server.sessions.get(&session).unwrap();
    let sampled_at = session.with_forest(|forest| {
        forest.nodes().filter_map(|(_, node)| Some(node.generation()?.temperature)).collect::<Vec<_>>()
    });
    assert_eq!(sampled_at, [1.0; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_engine_has_no_parameter_for_is_refused_by_name() {
    let server = Server::saying([text("a")]).await;
    let session = server.open(json!({})).await;
    for (field, value) in [
        ("min_tokens", json!(3)),
        ("repetition_penalty", json!(1.2)),
        ("stop_token_ids", json!([99_999_999])),
    ] {
        let (status, reply) = server.turn(&session, &json!({"messages": [user("hi")], field: value})).await;
        assert_eq!((status, &reply["error"]["param"]), (StatusCode::BAD_REQUEST, &json!(field)), "{reply}");
    }
    // Values that ask for nothing are taken.
    let body =
        json!({"messages": [user("hi")], "min_tokens": 0, "repetition_penalty": 1.0, "stop_token_ids": []});
    assert_eq!(server.turn(&session, &body).await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_asked_to_stop_the_turn_does_and_stays() {
    let line = text("one two three");
    let stop = line.ids[1];
    let server = Server::saying([line.clone()]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "stop_token_ids": [stop]});
    let (status, reply) = server.turn(&session, &body).await;
    assert_eq!((status, &reply["choices"][0]["finish_reason"]), (StatusCode::OK, &json!("stop")));
    let session = server.sessions.get(&session).unwrap();
    session.with_forest(|forest| {
        assert_eq!(forest.node(forest.head().unwrap()).unwrap().ids(), &line.ids[..2]);
    });
}

/// Hosts of a trusted network need no key; without either, a listed network closes the server to others.
#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_trusted_network_need_no_key() {
    let net = |text: &str| text.parse::<IpNet>().unwrap();
    for (trusted, status) in [
        (vec![net("127.0.0.0/8")], StatusCode::OK),
        (vec![net("10.0.0.0/8"), net("127.0.0.1/32")], StatusCode::OK),
        (vec![net("10.0.0.0/8")], StatusCode::UNAUTHORIZED),
        (Vec::new(), StatusCode::OK),
    ] {
        let access = Access { key: None, trusted: trusted.clone() };
        let server = Server::with(Setting { access, ..Setting::default() }, [text("a")]).await;
        let opened = server.client.post(format!("{}/sessions", server.url)).send().await.unwrap();
        assert_eq!(opened.status(), status, "{trusted:?}");
    }
}

/// An idle connection is closed after as long as it may be, and not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_be_idle_for_as_long_as_it_is_told() {
    for (idle, answered) in [(Duration::from_secs(60), true), (Duration::from_millis(50), false)] {
        let limits = Limits { idle, ..Limits::default() };
        let server = Server::with(Setting { limits, ..Setting::default() }, [text("a")]).await;
        let address = server.url.strip_prefix("http://").unwrap();
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!("GET /health HTTP/1.1\r\nhost: {address}\r\n\r\n");
        let mut buffer = vec![0; 4096];
        socket.write_all(head.as_bytes()).await.unwrap();
        assert!(socket.read(&mut buffer).await.unwrap() > 0);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let again = async {
            socket.write_all(head.as_bytes()).await?;
            socket.read(&mut buffer).await
        };
        assert_eq!(again.await.is_ok_and(|read| read > 0), answered, "{idle:?}");
    }
}
