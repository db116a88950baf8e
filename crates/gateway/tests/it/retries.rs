//! Clients that leave and clients that send again, over real connections that die.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use verbatim_session::Settings;

use crate::support::{Server, Setting, named, text, user};

/// A server whose turns take a while, and outlive their clients for as long as `grace`.
async fn slow(grace: Duration) -> Server {
    let usual = Setting::slow(Duration::from_millis(10));
    let settings = Settings { grace, ..usual.settings };
    let lines = (0..4).map(|at| text(&format!("{at}: {}", "word ".repeat(20))));
    Server::with(Setting { settings, ..usual }, lines).await
}

const LONG: Duration = Duration::from_secs(20);

/// The same request in each dialect.
fn requests(server: &Server, session: &str, stream: bool) -> [RequestBuilder; 3] {
    let post = |route: &str, body: Value| {
        server.client.post(format!("{}/sessions/{session}/v1/{route}", server.url)).json(&body)
    };
    let messages = [user("hi")];
    [
        post("chat/completions", json!({"messages": messages, "stream": stream})),
        post("responses", json!({"input": "hi", "stream": stream})),
        post("messages", json!({"messages": messages, "max_tokens": 99, "stream": stream})),
    ]
}

/// The reply's id, whole or streamed.
fn id(body: &str) -> String {
    let of = |value: &Value| {
        value["id"]
            .as_str()
            .or(value["response"]["id"].as_str())
            .or(value["message"]["id"].as_str())
            .map(str::to_owned)
    };
    if let Ok(whole) = serde_json::from_str::<Value>(body) {
        return of(&whole).unwrap_or_else(|| panic!("{body}"));
    }
    let data = body.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    of(&serde_json::from_str(data).unwrap()).unwrap()
}

async fn told(request: RequestBuilder) -> String {
    let reply = request.send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    reply.text().await.unwrap()
}

/// Sends a request and drops its connection while the turn runs.
async fn leave(server: &Server, request: RequestBuilder, stream: bool) {
    let reply = tokio::spawn(request.send());
    server.until("the turn runs", |server| server.engine.running() == 1).await;
    match stream {
        true => drop(reply.await.unwrap().unwrap()),
        false => reply.abort(),
    }
    // The server has to notice before it can tell a retry from a twin.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_sent_again_after_its_connection_died_joins_its_turn() {
    for stream in [true, false] {
        for dialect in 0..3 {
            let server = slow(LONG).await;
            let session = server.open(json!({})).await;
            let [request, again] =
                [(); 2].map(|()| requests(&server, &session, stream).into_iter().nth(dialect).unwrap());
            leave(&server, request, stream).await;
            let body = told(again).await;
            assert!(body.contains("0: ") || body.contains("\"0"), "the first turn's words: {body}");
            assert_eq!((server.attempts().len(), server.committed(&session)), (1, 1), "{dialect} {stream}");
            assert_eq!(server.lost("client_gone"), 0);
            // That was received: the same again is another turn.
            let fresh = requests(&server, &session, stream).into_iter().nth(dialect).unwrap();
            assert_ne!(id(&told(fresh).await), id(&body));
            assert_eq!(server.committed(&session), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_that_wait_for_the_same_are_siblings() {
    let server = slow(LONG).await;
    let session = server.open(json!({})).await;
    let [one, two] = [(); 2].map(|()| told(requests(&server, &session, true).into_iter().next().unwrap()));
    let (one, two) = tokio::join!(one, two);
    assert_ne!(id(&one), id(&two));
    assert_eq!((server.attempts().len(), server.committed(&session)), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marked_retry_joins_a_live_call_and_gets_a_recorded_reply() {
    let marks = [("x-stainless-retry-count", "1"), ("idempotency-key", "k")];
    for (name, value) in marks {
        for dialect in 0..3 {
            let server = slow(LONG).await;
            let session = server.open(json!({})).await;
            let first = if name == "idempotency-key" { value } else { "0" };
            let ask = |stream: bool, value: &str| {
                let request = requests(&server, &session, stream).into_iter().nth(dialect).unwrap();
                told(request.header(name, value))
            };
            let late = async {
                server.until("the turn runs", |server| server.engine.running() == 1).await;
                ask(true, value).await
            };
            let (one, two) = tokio::join!(ask(true, first), late);
            assert_eq!(id(&one), id(&two), "{name}: joined");
            let three = ask(true, value).await;
            assert_eq!(id(&one), id(&three), "{name}: recorded");
            assert_eq!((server.attempts().len(), server.committed(&session)), (1, 1));
            if dialect == 1 {
                let ends = [&one, &two, &three]
                    .map(|body| named(body).last().unwrap().1["response"]["output"].clone());
                assert_eq!((&ends[0], &ends[0]), (&ends[1], &ends[2]));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_one_request() {
    let server = slow(LONG).await;
    let session = server.open(json!({})).await;
    let ask = |key: &str, words: &str| {
        server.chat(&session, &json!({"messages": [user(words)]})).header("idempotency-key", key).send()
    };
    let first = ask("a", "hi").await.unwrap().text().await.unwrap();
    let other = ask("b", "hi").await.unwrap().text().await.unwrap();
    assert_ne!(id(&first), id(&other), "another key is another request");
    let reused = ask("a", "something else").await.unwrap();
    assert_eq!(reused.status(), StatusCode::BAD_REQUEST);
    let refused: Value = reused.json().await.unwrap();
    assert_eq!(refused["error"]["param"], "Idempotency-Key");
    assert_eq!(server.committed(&session), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stays_away_takes_its_turn_with_it() {
    let grace = Duration::from_millis(100);
    for stream in [true, false] {
        let server = slow(grace).await;
        let session = server.open(json!({})).await;
        let [chat, ..] = requests(&server, &session, stream);
        leave(&server, chat, stream).await;
        assert_eq!(server.engine.running(), 1, "it is waited for");
        server.until("the engine let go", |server| server.engine.running() == 0).await;
        server.until("that is told", |server| server.lost("client_gone") == 1).await;
        assert_eq!(server.committed(&session), 0);
        // Too late: another turn.
        let [chat, ..] = requests(&server, &session, stream);
        told(chat).await;
        assert_eq!((server.attempts().len(), server.committed(&session)), (2, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_ends_unheard_is_committed_once_somebody_asks_and_not_before() {
    let server = slow(LONG).await;
    let session = server.open(json!({})).await;
    let [chat, ..] = requests(&server, &session, false);
    leave(&server, chat, false).await;
    server.until("it is sampled", |server| server.engine.running() == 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.committed(&session), 0);
    let [chat, ..] = requests(&server, &session, false);
    told(chat).await;
    assert_eq!((server.attempts().len(), server.committed(&session)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_session_ends_what_was_waited_for() {
    let server = slow(LONG).await;
    let session = server.open(json!({})).await;
    let [chat, ..] = requests(&server, &session, true);
    leave(&server, chat, true).await;
    let kept = server.sessions.get(&session).unwrap();
    server.sessions.close(&session).await.unwrap();
    assert_eq!(server.engine.running(), 0);
    assert_eq!(kept.with_forest(|forest| forest.nodes().len()), 0, "late results are refused");
    let [chat, ..] = requests(&server, &session, true);
    assert_eq!(chat.send().await.unwrap().status(), StatusCode::GONE);
}
