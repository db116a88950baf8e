//! Branches, retries and lines.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Server, text, user};

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
    assert!(reply["error"]["message"].as_str().unwrap().contains("2 turns"), "{reply}");
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
    assert!(std::sync::Arc::ptr_eq(&first, &second));
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
