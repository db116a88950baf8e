//! An engine that fails: the agent gets an error or one slow reply, and nothing wrong is committed.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_engine_sim::Fault;
use verbatim_session::Settings;
use verbatim_tokens::TokenId;

use crate::support::{Server, Setting, events, faulty, text, user};

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_breaks_is_502_and_commits_nothing() {
    let server = Server::saying([faulty("one two three", Fault::DiesAfter(2)), text("fine")]).await;
    let session = server.open(json!({})).await;
    let (status, reply) = server.turn(&session, &json!({"messages": [user("hi")]})).await;
    assert_eq!((status, &reply["error"]["code"]), (StatusCode::BAD_GATEWAY, &json!("engine_error")));
    assert_eq!((server.committed(&session), server.lost("engine_failed")), (0, 1));
    let said = server.says(&session, &[user("hi")]).await;
    assert_eq!(said["content"], "fine", "the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_does_not_add_up_is_thrown_away_whole_and_asked_for_again() {
    let server = Server::saying([faulty("one two three", Fault::ShortLogprobs), text("fine")]).await;
    let session = server.open(json!({})).await;
    let said = server.says(&session, &[user("hi")]).await;
    assert_eq!(said["content"], "fine");
    assert_eq!((server.committed(&session), server.lost("attempt_failed")), (1, 1));
    let attempts = server.attempts();
    assert_eq!(attempts[0].prompt, attempts[1].prompt, "nothing of the first was kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_adds_up_is_502_after_three_of_them() {
    let short = || faulty("one two three", Fault::ShortLogprobs);
    let server = Server::saying([short(), short(), short(), text("fine")]).await;
    let session = server.open(json!({})).await;
    let (status, _) = server.turn(&session, &json!({"messages": [user("hi")]})).await;
    assert_eq!((status, server.committed(&session)), (StatusCode::BAD_GATEWAY, 0));
    assert_eq!((server.attempts().len(), server.lost("engine_failed")), (3, 1));
    assert_eq!(server.says(&session, &[user("hi")]).await["content"], "fine");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_was_told_is_never_taken_back() {
    let server =
        Server::saying([faulty("one two three four five", Fault::ShortLogprobs), text("fine")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "stream": true});
    let reply = server.chat(&session, &body).send().await.unwrap();
    let events = events(&reply.text().await.unwrap());
    assert!(events.len() > 2, "something was told");
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!((&last["error"]["code"], server.committed(&session)), (&json!("engine_error"), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_cut_goes_on_after_what_came() {
    let whole = text("one two three four").ids;
    let rest = verbatim_engine_sim::Line { ids: whole[2..].to_vec(), fault: None };
    for stream in [false, true] {
        let lines = [faulty("one two three four", Fault::CutAfter(2)), rest.clone()];
        let server = Server::saying(lines).await;
        let session = server.open(json!({})).await;
        let body = json!({"messages": [user("hi")], "stream": stream});
        let reply = server.chat(&session, &body).send().await.unwrap();
        assert_eq!(reply.status(), StatusCode::OK);
        reply.text().await.unwrap();
        let session = server.sessions.get(&session).unwrap();
        session.with_forest(|forest| {
            let head = forest.node(forest.head().unwrap()).unwrap();
            assert_eq!(head.ids(), whole, "attempts sum to the turn");
        });
        assert_eq!(server.lost("attempt_failed"), 1);
    }
}

/// The connection breaks after the last token and before the engine says that it was the last.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_cut_after_its_last_token_is_over() {
    let whole = text("one two three four").ids;
    for (limit, kept, finish) in [(40, whole.len(), "stop"), (3, 3, "length")] {
        let lines = [faulty("one two three four", Fault::CutAfter(kept)), text("and more")];
        let server = Server::saying(lines).await;
        let session = server.open(json!({})).await;
        let body = json!({"messages": [user("hi")], "max_tokens": limit});
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!(
            (status, &reply["choices"][0]["finish_reason"]),
            (StatusCode::OK, &json!(finish)),
            "{reply}"
        );
        assert_eq!(server.attempts().len(), 1, "nothing is sampled after it");
        let session = server.sessions.get(&session).unwrap();
        session.with_forest(|forest| {
            assert_eq!(forest.node(forest.head().unwrap()).unwrap().ids(), &whole[..kept]);
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_yields_nothing_but_failures_is_503_after_a_while() {
    let usual = Setting::default();
    let settings = Settings { outage: Duration::from_millis(150), ..usual.settings };
    let server = Server::with(Setting { settings, ..usual }, [faulty("one", Fault::CutAfter(0))]).await;
    let session = server.open(json!({})).await;
    let reply = server.chat(&session, &json!({"messages": [user("hi")]})).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.headers()["x-should-retry"], "true");
    assert!(server.attempts().len() > 1, "it was tried again");
    assert_eq!((server.committed(&session), server.lost("engine_failed")), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_inside_a_started_stream_is_its_last_event() {
    let server = Server::saying([faulty("one two three four five", Fault::DiesAfter(7))]).await;
    let session = server.open(json!({})).await;
    let reply =
        server.chat(&session, &json!({"messages": [user("hi")], "stream": true})).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    let events = events(&reply.text().await.unwrap());
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "engine_error");
    assert!(events.len() > 2 && server.committed(&session) == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_the_engine_aborts_is_resumed_and_the_agent_sees_one_reply() {
    // The second attempt goes on where the first was cut: its prompt ends with what was sampled.
    let whole = text("one two three four").ids;
    let rest = verbatim_engine_sim::Line { ids: whole[2..].to_vec(), fault: None };
    let server = Server::saying([faulty("one two three four", Fault::AbortsAfter(2)), rest]).await;
    let session = server.open(json!({})).await;
    let said = server.says(&session, &[user("hi")]).await;
    assert_eq!(said["content"], "one two three four");
    let attempts = server.attempts();
    let resumed: Vec<TokenId> = [&attempts[0].prompt[..], &whole[..2]].concat();
    assert_eq!(attempts[1].prompt, resumed);
    assert_eq!(server.committed(&session), 1);
    assert_eq!(server.lost("attempt_aborted"), 1);
    let session = server.sessions.get(&session).unwrap();
    session.with_forest(|forest| {
        let head = forest.node(forest.head().unwrap()).unwrap();
        assert_eq!(head.ids(), whole, "attempts sum to the turn");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_gate_holds_a_turn_and_an_open_one_finishes_it() {
    // Long enough to be still running when the order comes, on a machine that does much else.
    let long = text(&"one two three four five ".repeat(8));
    let server = Server::with(Setting::slow(Duration::from_millis(40)), [long]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "max_tokens": 60});
    let reply = tokio::spawn(server.chat(&session, &body).send());
    server.until("the turn runs", |server| server.engine.running() == 1).await;
    let control = |verb: &str| server.client.post(format!("{}/control/{verb}", server.url)).send();
    control("pause").await.unwrap();
    server.until("the attempt is gone", |server| server.engine.running() == 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((server.committed(&session), server.engine.running()), (0, 0), "held, not failed");
    control("resume").await.unwrap();
    assert_eq!(reply.await.unwrap().unwrap().status(), StatusCode::OK);
    assert_eq!(server.committed(&session), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_held_beyond_its_deadline_is_503() {
    let usual = Setting::default();
    let settings = Settings { hold: Duration::from_millis(100), ..usual.settings };
    let server = Server::with(Setting { settings, ..usual }, [text("x")]).await;
    server.sessions.dispatcher().close_gate(verbatim_session::Running::Abort);
    let session = server.open(json!({})).await;
    let reply = server.chat(&session, &json!({"messages": [user("hi")]})).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.headers()["x-should-retry"], "true");
    assert_eq!((server.committed(&session), server.lost("hold_expired")), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_takes_its_attempt_with_it() {
    let server = Server::with(Setting::slow(Duration::from_millis(10)), [text(&"word ".repeat(200))]).await;
    let session = server.open(json!({})).await;
    for stream in [true, false] {
        let body = json!({"messages": [user("hi")], "stream": stream});
        let reply = tokio::spawn(server.chat(&session, &body).send());
        server.until("the turn runs", |server| server.engine.running() == 1).await;
        // Dropping a streamed reply, or the wait for a whole one, closes the connection.
        match stream {
            true => drop(reply.await.unwrap().unwrap()),
            false => reply.abort(),
        }
        server.until("the engine let go", |server| server.engine.running() == 0).await;
    }
    server.until("both are told", |server| server.lost("client_gone") == 2).await;
    assert_eq!(server.committed(&session), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_without_a_logprob_are_committed_and_never_trained() {
    let server = Server::saying([faulty("one two", Fault::NoLogprobs)]).await;
    let session = server.open(json!({})).await;
    server.says(&session, &[user("hi")]).await;
    let url = format!("{}/sessions/{session}/samples", server.url);
    let reply = server.client.post(url).json(&json!({"format": "jsonl"})).send().await.unwrap();
    let row: Value = serde_json::from_str(reply.text().await.unwrap().trim()).unwrap();
    assert!(row["loss_mask"].as_array().unwrap().iter().all(|mask| mask == 0), "{row}");
    assert!(row["logprobs"].as_array().unwrap().iter().all(Value::is_null));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_one_slow_request_and_its_tokens_say_which_weights_sampled_them() {
    let setting = Setting::slow(Duration::from_millis(5));
    let server = Server::with(setting, [text(&"word ".repeat(30))]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "max_tokens": 30});
    let reply = tokio::spawn(server.chat(&session, &body).send());
    server.until("the turn runs", |server| server.engine.running() == 1).await;
    let control = |verb: &str, body: Value| {
        server.client.post(format!("{}/control/{verb}", server.url)).body(body.to_string()).send()
    };
    let early = control("end_update", json!({"version": "7"})).await.unwrap();
    assert_eq!(early.status(), StatusCode::CONFLICT, "nothing was begun");
    tokio::time::sleep(Duration::from_millis(30)).await;
    let begun = control("begin_update", json!({"mode": "abort"})).await.unwrap();
    assert_eq!(begun.status(), StatusCode::OK);
    assert_eq!((server.engine.running(), server.committed(&session)), (0, 0), "nothing is sampled any more");
    let again = control("begin_update", json!({})).await.unwrap();
    assert_eq!(again.status(), StatusCode::CONFLICT, "one at a time");
    assert_eq!(control("end_update", json!({})).await.unwrap().status(), StatusCode::BAD_REQUEST);
    let ended = control("end_update", json!({"version": "7"})).await.unwrap();
    assert_eq!(ended.status(), StatusCode::OK);
    assert_eq!(reply.await.unwrap().unwrap().status(), StatusCode::OK);
    let session = server.sessions.get(&session).unwrap();
    session.with_forest(|forest| {
        let head = forest.node(forest.head().unwrap()).unwrap();
        let versions = head.generation().unwrap().sampled.versions().clone();
        let last =
            versions.iter().last().and_then(|(version, _)| version.as_ref().map(|v| v.as_str().to_owned()));
        assert_eq!(last.as_deref(), Some("7"), "{versions:?}");
        assert_eq!(versions.iter().count(), 2, "each attempt's tokens keep their own: {versions:?}");
    });
}
