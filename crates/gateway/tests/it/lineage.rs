//! Branches, retries and lines.

use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::StatusCode;
use serde_json::json;
use verbatim_chat::Message;
use verbatim_forest::Lineage;
use verbatim_session::{Matching, Predicate, ToolsDrift};

use crate::support::{Server, Setting, text, user};

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_branches_and_shares_what_came_before() {
    let server = Server::saying(["a", "b", "c", "d"].map(text)).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    for follow in ["left", "right"] {
        server.says(&session, &[user("hi"), first.clone(), user(follow)]).await;
    }
    let tree = server.tree(&session).await;
    assert_eq!(tree["leaves"].as_array().unwrap().len(), 2);
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 6, "the first turn is stored once");
    assert_eq!(server.lost("forked"), 1);
    // The same request again is sampled again from the observation that is there.
    server.says(&session, &[user("hi"), first, user("right")]).await;
    assert_eq!(server.tree(&session).await["nodes"].as_array().unwrap().len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_turn_and_a_message_in_its_place_continue_the_turn_before() {
    let server = Server::saying(["a", "bad", "b"].map(text)).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    server.says(&session, &[user("hi"), first.clone(), user("act")]).await;
    // What mini-swe-agent does after a format error.
    let messages = [user("hi"), first, user("act"), user("format error, again")];
    server.says(&session, &messages).await;
    let attempts = server.attempts();
    let before = [&attempts[0].prompt[..], &attempts[0].said[..]].concat();
    assert!(attempts[2].prompt.starts_with(&before), "the first turn is not rendered again");
    assert_eq!(server.lost("rerooted"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_drops_its_last_turn_for_a_retry_and_refuses_deeper_divergence() {
    let server = Server::saying(["a", "b", "c", "d"].map(text)).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let first = server.says(&session, &[user("hi")]).await;
    let second = [user("hi"), first.clone(), user("on")];
    server.says(&session, &second).await;
    server.says(&session, &second).await;
    assert_eq!(server.lost("rolled_back"), 1);
    let (status, reply) = server.turn(&session, &json!({"messages": [user("other")]})).await;
    assert_eq!((status, &reply["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("lineage_diverged")));
    let text = "rollback failed: discard_count=2 exceeds max_assistant_rollback_steps=1 (stored has 4 messages, request has 1 messages)";
    assert!(reply["error"]["message"].as_str().unwrap().starts_with(text), "{reply}");
    assert_eq!(server.committed(&session), 3, "a refused request changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cut_by_its_limit_is_not_extended_in_a_tree_and_is_in_a_line() {
    for (lineage, expected) in [("tree", StatusCode::CONFLICT), ("linear", StatusCode::OK)] {
        let server = Server::saying([text("one two three four")]).await;
        let session = server.open(json!({"lineage": lineage})).await;
        let (_, reply) = server.turn(&session, &json!({"messages": [user("hi")], "max_tokens": 2})).await;
        let cut = reply["choices"][0]["message"].clone();
        let (status, reply) =
            server.turn(&session, &json!({"messages": [user("hi"), cut, user("go on")]})).await;
        assert_eq!(status, expected, "{lineage}: {reply}");
        let repaired = u64::from(expected == StatusCode::OK);
        assert_eq!(server.lost("junction_repaired"), repaired, "the missing end is told");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_change_begin_another_root() {
    let server = Server::saying(["a", "b"].map(text)).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    let body = json!({"messages": [user("hi"), first, user("on")], "tools": tools});
    assert_eq!(server.turn(&session, &body).await.0, StatusCode::OK);
    assert_eq!(server.lost("rerooted"), 1);
    let tree = server.tree(&session).await;
    assert_eq!(tree["leaves"].as_array().unwrap().len(), 2);
    let setups = [0, 2].map(|node| tree["nodes"][node]["setup"].clone());
    assert_eq!(setups, [json!({}), json!({"tools": tools})], "each root shows what it was rendered with");
}

/// A line keeps its prompt and goes on under the new tools, as Miles does.
#[tokio::test(flavor = "multi_thread")]
async fn tools_that_change_within_a_line_are_taken_and_counted() {
    let server = Server::saying(["a", "b", "c", "d"].map(text)).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let tools = |name: &str| json!([{"type": "function", "function": {"name": name, "parameters": {}}}]);
    let mut messages = vec![user("hi")];
    for (turn, (name, drifted)) in [("f", 0), ("g", 1), ("g", 1), ("f", 2)].into_iter().enumerate() {
        let body = json!({"messages": messages, "tools": tools(name)});
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(server.lost("tools_drifted"), drifted, "turn {turn}");
        messages.push(reply["choices"][0]["message"].clone());
        messages.push(user("on"));
    }
    assert_eq!((server.lost("rerooted"), server.lost("rolled_back")), (0, 0));
    let attempts = server.attempts();
    for pair in attempts.windows(2) {
        let before = [&pair[0].prompt[..], &pair[0].said[..]].concat();
        assert!(pair[1].prompt.starts_with(&before), "nothing is rendered again");
    }
    // Also where the history comes back in another spelling, so that it has to be looked for.
    messages[1]["content"] = json!([{"type": "text", "text": "a"}]);
    let body = json!({"messages": messages, "tools": tools("h")});
    assert_eq!(server.turn(&session, &body).await.0, StatusCode::OK);
    assert_eq!((server.lost("tools_drifted"), server.lost("rolled_back")), (3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_change_are_refused_where_that_is_asked_for() {
    for lineage in [Lineage::Tree, Lineage::Linear] {
        let mut setting = Setting::default();
        (setting.settings.tools_drift, setting.settings.lineage) = (ToolsDrift::Refuse, lineage);
        let server = Server::with(setting, [text("a")]).await;
        let session = server.open(json!({})).await;
        let first = server.says(&session, &[user("hi")]).await;
        let messages = json!([user("hi"), first, user("on")]);
        for (field, value) in [
            ("tools", json!([{"type": "function", "function": {"name": "f", "parameters": {}}}])),
            ("chat_template_kwargs", json!({"enable_thinking": false})),
        ] {
            let (status, reply) = server.turn(&session, &json!({"messages": messages, field: value})).await;
            assert_eq!((status, &reply["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("tools_drifted")));
            assert_eq!(reply["error"]["param"], field);
        }
        assert_eq!(server.turn(&session, &json!({"messages": messages})).await.0, StatusCode::OK);
        assert_eq!(server.committed(&session), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_may_be_told_to_take_back_more() {
    let mut setting = Setting::default();
    setting.settings.rollback = 2;
    let server = Server::with(setting, [text("a")]).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let mut messages = vec![user("hi")];
    for _ in 0..3 {
        messages.push(server.says(&session, &messages).await);
        messages.push(user("on"));
    }
    let deeper = json!({"messages": [user("other")]});
    assert_eq!(server.turn(&session, &deeper).await.0, StatusCode::BAD_REQUEST);
    let back = [&messages[..2], &[user("instead")]].concat();
    server.says(&session, &back).await;
    assert_eq!(server.lost("rolled_back"), 2, "each turn that is taken back is told");
}

/// A user's own equality: the same words, whatever their case.
struct Caseless;

impl Predicate for Caseless {
    fn name(&self) -> &str {
        "mine.caseless"
    }

    fn judge(&self, pairs: Vec<(Arc<Message>, Arc<Message>)>) -> BoxFuture<'_, Result<Vec<bool>, String>> {
        let same = |(stored, sent): &(Arc<Message>, Arc<Message>)| {
            stored.content.text().eq_ignore_ascii_case(&sent.content.text())
        };
        Box::pin(async move {
            match pairs.iter().any(|(_, sent)| sent.content.text() == "boom") {
                true => Err("Traceback: boom".into()),
                false => Ok(pairs.iter().map(same).collect()),
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_own_matcher_decides_and_its_failure_is_told() {
    let mut setting = Setting::default();
    setting.settings.matching = Matching::Predicate(Arc::new(Caseless));
    let server = Server::with(setting, [text("Fine")]).await;
    let session = server.open(json!({})).await;
    server.says(&session, &[user("hi")]).await;
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    server.says(&session, &[user("HI"), assistant("FINE"), user("on")]).await;
    assert_eq!((server.lost("respelt"), server.lost("rerooted")), (1, 0));
    server.says(&session, &[user("hi"), assistant("Not fine"), user("on")]).await;
    assert_eq!(server.lost("rerooted"), 1, "what it does not take for the same is not");
    let (status, reply) = server.turn(&session, &json!({"messages": [user("boom"), user("on")]})).await;
    assert_eq!((status, &reply["error"]["code"]), (StatusCode::OK, &json!(null)), "no role of it is known");
    let (status, reply) = server.turn(&session, &json!({"messages": [user("boom")]})).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        reply["error"]["message"].as_str().unwrap().contains("mine.caseless: Traceback: boom"),
        "{reply}"
    );
    assert_eq!(server.lost("matcher_failed"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_begin_alike_store_their_beginning_once() {
    let server = Server::saying(["a", "b"].map(text)).await;
    let tokens = [server.open(json!({"group": "g"})).await, server.open(json!({"group": "g"})).await];
    for token in &tokens {
        server.says(token, &[json!({"role": "system", "content": "long ".repeat(100)}), user("hi")]).await;
    }
    let opening = |token: &str| {
        server.sessions.get(token).unwrap().with_forest(|forest| {
            let (_, first) = forest.nodes().next().unwrap();
            first.observation().unwrap().ids.clone()
        })
    };
    let [first, second] = tokens.each_ref().map(|token| opening(token));
    assert!(Arc::ptr_eq(&first, &second));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_a_request_is_not_parsed_again() {
    let server = Server::saying(["a", "b"].map(text)).await;
    let session = server.open(json!({})).await;
    // A key that is reported each time its message is parsed.
    let first = json!({"role": "user", "content": "hi", "marker": 1});
    let said = server.says(&session, std::slice::from_ref(&first)).await;
    assert_eq!(server.lost("field_ignored"), 1);
    server.says(&session, &[first, said, user("on")]).await;
    assert_eq!(server.lost("field_ignored"), 1);
}
