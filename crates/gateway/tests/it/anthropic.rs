//! Anthropic Messages as an agent sees it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_engine_sim::Fault;

use crate::support::{Server, faulty, text, turn, user};

fn tools() -> Value {
    json!([{"name": "sh", "description": "Runs a command.", "cache_control": {"type": "ephemeral"},
            "input_schema": {"type": "object", "properties": {"cmd": {"type": "string"}}}}])
}

fn two_turns() -> [verbatim_engine_sim::Line; 2] {
    [
        turn("Look first.", "I look.", &[("sh", "{\"cmd\": \"ls\"}"), ("sh", "{\"cmd\": \"pwd\"}")]),
        turn("", "Done.", &[]),
    ]
}

fn answers(reply: &Value) -> Value {
    let calls = reply["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
    let mut results: Vec<Value> = calls
        .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "done"}))
        .collect();
    results.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
    json!({"role": "user", "content": results})
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_sent_back_are_one_line_under_every_matcher() {
    for matcher in ["strict", "loose_tool_call", "role_content_only", "loose_replay"] {
        let server = Server::saying(two_turns()).await;
        let session = server.open(json!({"matcher": matcher})).await;
        let mut body =
            json!({"system": "Be brief.", "max_tokens": 99, "tools": tools(), "messages": [user("go")]});
        let (status, reply) = server.post(&session, "messages", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(
            (&reply["type"], &reply["role"], &reply["stop_reason"]),
            (&json!("message"), &json!("assistant"), &json!("tool_use"))
        );
        let kinds: Vec<&Value> =
            reply["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
        assert_eq!(reply["content"][2]["input"], json!({"cmd": "ls"}));
        let said = json!({"role": "assistant", "content": reply["content"]});
        body["messages"] = json!([user("go"), said, answers(&reply)]);
        let (status, reply) = server.post(&session, "messages", &body).await;
        assert_eq!(
            (status, &reply["stop_reason"]),
            (StatusCode::OK, &json!("end_turn")),
            "{matcher}: {reply}"
        );
        assert_eq!(server.tree(&session).await["leaves"].as_array().unwrap().len(), 1, "{matcher}");
        assert_eq!((server.lost("forked"), server.lost("rerooted")), (0, 0), "{matcher}");
        let attempts = server.attempts();
        let before = [&attempts[0].prompt[..], &attempts[0].said[..]].concat();
        assert!(attempts[1].prompt.starts_with(&before), "{matcher}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_is_what_the_turn_then_reads() {
    let server = Server::saying(two_turns()).await;
    let session = server.open(json!({})).await;
    let mut body = json!({"system": "Be brief.", "tools": tools(), "messages": [user("go")]});
    for _ in 0..2 {
        let (status, counted) = server.post(&session, "messages/count_tokens", &body).await;
        assert_eq!(status, StatusCode::OK, "{counted}");
        let before = server.committed(&session);
        let (_, reply) = server.post(&session, "messages", &body).await;
        let usage = |name: &str| reply["usage"][name].as_u64().unwrap();
        assert_eq!(counted["input_tokens"], usage("input_tokens") + usage("cache_read_input_tokens"));
        assert_eq!(server.committed(&session), before + 1, "counting commits nothing");
        if reply["stop_reason"] == "tool_use" {
            let said = json!({"role": "assistant", "content": reply["content"]});
            body["messages"] = json!([user("go"), said, answers(&reply)]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_each_block_and_ends_after_the_commit() {
    let server = Server::saying(two_turns()).await;
    let session = server.open(json!({})).await;
    let body = json!({"max_tokens": 99, "tools": tools(), "messages": [user("go")], "stream": true});
    let events = server.stream(&session, "messages", &body).await;
    assert_eq!(server.committed(&session), 1);
    assert!(events.iter().all(|(name, data)| data["type"] == name.as_str()));
    let mut order: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    order.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start"][..], &block, &block, &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(order, expected);
    assert!(events[0].1["message"]["usage"]["input_tokens"].as_u64().unwrap() > 0);
    let deltas = |kind: &str, key: &str| -> String {
        let of = events.iter().filter(|(_, data)| data["delta"]["type"] == kind);
        of.map(|(_, data)| data["delta"][key].as_str().unwrap()).collect()
    };
    assert_eq!(deltas("thinking_delta", "thinking"), "Look first.");
    assert_eq!(deltas("text_delta", "text"), "I look.");
    assert_eq!(deltas("input_json_delta", "partial_json"), "{\"cmd\": \"ls\"}{\"cmd\": \"pwd\"}");
    assert!(!deltas("signature_delta", "signature").is_empty());
    let end = &events[events.len() - 2].1;
    assert_eq!(end["delta"], json!({"stop_reason": "tool_use", "stop_sequence": null}));
    assert!(end["usage"]["output_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_that_was_left_out_is_recalled_and_changed_thinking_is_refused() {
    let server = Server::saying([turn("Look first.", "I look.", &[]), text("Done.")]).await;
    let session = server.open(json!({})).await;
    let thinking = json!({"type": "adaptive", "display": "omitted"});
    let mut body = json!({"max_tokens": 99, "thinking": thinking, "messages": [user("go")]});
    let (_, reply) = server.post(&session, "messages", &body).await;
    assert_eq!(reply["content"][0]["thinking"], "");
    let mut said = reply["content"].clone();
    body["messages"] = json!([user("go"), {"role": "assistant", "content": said}, user("on")]);
    let (status, _) = server.post(&session, "messages", &body).await;
    assert_eq!(
        (status, server.lost("respelt"), server.lost("forked")),
        (StatusCode::OK, 0, 0),
        "recalled exactly"
    );
    said[0]["thinking"] = json!("Look later.");
    body["messages"] = json!([user("go"), {"role": "assistant", "content": said}, user("again")]);
    let (status, refused) = server.post(&session, "messages", &body).await;
    assert_eq!(
        (status, &refused["error"]["type"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request_error"))
    );
    assert!(
        refused["error"]["message"].as_str().unwrap().starts_with("messages[1].content[0].signature"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_sequence_is_named_and_a_limit_is_max_tokens() {
    let server = Server::saying([text("one two three four")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"max_tokens": 99, "stop_sequences": ["three"], "messages": [user("go")]});
    let (_, reply) = server.post(&session, "messages", &body).await;
    assert_eq!((&reply["stop_reason"], &reply["stop_sequence"]), (&json!("stop_sequence"), &json!("three")));
    assert_eq!(reply["content"][0]["text"], "one two ");
    let body = json!({"max_tokens": 2, "messages": [user("go")]});
    let (_, reply) = server.post(&session, "messages", &body).await;
    assert_eq!((&reply["stop_reason"], &reply["stop_sequence"]), (&json!("max_tokens"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_is_told_in_anthropics_words() {
    let server = Server::saying([faulty("one two three", Fault::DiesAfter(2))]).await;
    let session = server.open(json!({})).await;
    let url = format!("{}/v1/messages", server.url);
    let told = async |request: reqwest::RequestBuilder| -> (u16, String) {
        let reply = request.send().await.unwrap();
        let status = reply.status().as_u16();
        let body: Value = reply.json().await.unwrap();
        assert_eq!(body["type"], "error", "{body}");
        (status, body["error"]["type"].as_str().unwrap().to_owned())
    };
    let good = json!({"max_tokens": 9, "messages": [user("go")]});
    let table = [
        (server.client.post(&url).json(&good), 401, "authentication_error"),
        (server.client.post(&url).header("x-api-key", "nobody").json(&good), 404, "not_found_error"),
        (
            server.client.post(&url).header("x-api-key", &session).json(&json!({"messages": []})),
            400,
            "invalid_request_error",
        ),
        (server.client.post(&url).header("x-api-key", &session).body("{"), 400, "invalid_request_error"),
        (server.client.post(&url).bearer_auth(&session).json(&good), 502, "api_error"),
    ];
    for (request, status, kind) in table {
        assert_eq!(told(request).await, (status, kind.to_owned()));
    }
    let body = json!({"max_tokens": 9, "messages": [user("go")], "stream": true});
    let events = server.stream(&session, "messages", &body).await;
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["error"]["type"]), ("error", &json!("api_error")));
    assert_eq!(server.committed(&session), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_told_in_the_askers_words() {
    let server = Server::saying([text("x")]).await;
    let session = server.open(json!({})).await;
    let ask = async |path: &str, anthropic: bool| -> (u16, Value) {
        let mut request = server.client.get(format!("{}{path}", server.url));
        if anthropic {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let reply = request.send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    };
    for base in ["/v1/models".to_owned(), format!("/sessions/{session}/v1/models")] {
        let (_, list) = ask(&base, false).await;
        assert_eq!((&list["object"], &list["data"][0]["id"]), (&json!("list"), &json!("policy")));
        let (_, page) = ask(&base, true).await;
        assert_eq!((&page["data"][0]["type"], &page["has_more"]), (&json!("model"), &json!(false)));
        let (status, model) = ask(&format!("{base}/policy"), false).await;
        assert_eq!((status, &model["object"]), (200, &json!("model")));
        let (status, model) = ask(&format!("{base}/policy"), true).await;
        assert_eq!((status, &model["display_name"]), (200, &json!("policy")));
        let (status, missing) = ask(&format!("{base}/some/other"), true).await;
        assert_eq!((status, &missing["error"]["type"]), (404, &json!("not_found_error")));
    }
}
