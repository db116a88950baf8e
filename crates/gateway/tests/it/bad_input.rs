//! What a request that cannot be taken gets: its field, what is wrong, and nothing committed.

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_engine_sim::SimOptions;
use verbatim_gateway::Limits;

use crate::support::{Server, Setting, text, user};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_honoured_is_refused_by_its_name() {
    let server = Server::saying([text("never said")]).await;
    let session = server.open(json!({})).await;
    let hi = json!([user("hi")]);
    let table = [
        (json!({}), "messages"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": "hi"}), "messages"),
        (json!({"messages": [1]}), "messages[0]"),
        (json!({"messages": [{"role": "robot", "content": "x"}]}), "messages[0].role"),
        (json!({"messages": [{"content": "x"}]}), "messages[0].role"),
        (json!({"messages": [user("a"), {"role": "user", "content": null}]}), "messages[1].content"),
        (json!({"messages": [{"role": "user", "content": 7}]}), "messages[0].content"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}),
            "messages[0].content[0].image_url.url",
        ),
        (json!({"messages": hi, "n": 2}), "n"),
        (json!({"messages": hi, "audio": {"voice": "x"}}), "audio"),
        (json!({"messages": hi, "modalities": ["audio"]}), "modalities"),
        (json!({"messages": hi, "logit_bias": {"1": 2}}), "logit_bias"),
        (json!({"messages": hi, "input_ids": [1]}), "input_ids"),
        (json!({"messages": hi, "tool_choice": "required"}), "tool_choice"),
        (json!({"messages": hi, "response_format": {"type": "json_object"}}), "response_format"),
        (json!({"messages": hi, "temperature": -1}), "temperature"),
        (json!({"messages": hi, "top_p": 0}), "top_p"),
        (json!({"messages": hi, "max_tokens": 0}), "max_tokens"),
        (json!({"messages": hi, "top_logprobs": 2}), "top_logprobs"),
        (json!({"messages": hi, "logprobs": true, "top_logprobs": 2}), "top_logprobs"),
        (json!({"messages": hi, "stop": [""]}), "stop"),
        (json!({"messages": hi, "tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"messages": hi, "chat_template_kwargs": []}), "chat_template_kwargs"),
    ];
    for (body, field) in table {
        let (status, reply) = server.turn(&session, &body).await;
        let error = &reply["error"];
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {reply}");
        assert_eq!(error["param"], field, "{body}: {reply}");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().starts_with(field), "{reply}");
    }
    assert_eq!((server.committed(&session), server.attempts().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_json_is_refused() {
    let server = Server::saying([text("x")]).await;
    let session = server.open(json!({})).await;
    let url = format!("{}/sessions/{session}/v1/chat/completions", server.url);
    for body in [&b"{"[..], b"", b"[]", b"\xff", b"{\"messages\": [}"] {
        let reply = server.client.post(&url).body(body.to_vec()).send().await.unwrap();
        assert_eq!(reply.status(), StatusCode::BAD_REQUEST);
        let reply: Value = reply.json().await.unwrap();
        assert_eq!(reply["error"]["param"], "body", "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_session_is_404_and_is_not_to_be_retried() {
    let server = Server::saying([text("x")]).await;
    let reply = server
        .chat("0123456789abcdef0123456789abcdef", &json!({"messages": [user("hi")]}))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), StatusCode::NOT_FOUND);
    assert_eq!(reply.headers()["x-should-retry"], "false");
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["error"]["code"], "session_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_over_long_prompt_is_refused_before_the_engine_is_asked() {
    let usual = Setting::default();
    let setting = Setting { options: SimOptions { max_context: 32, ..usual.options }, ..usual };
    let server = Server::with(setting, [text("x")]).await;
    let session = server.open(json!({})).await;
    let (status, reply) = server.turn(&session, &json!({"messages": [user(&"long ".repeat(40))]})).await;
    assert_eq!(
        (status, &reply["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!("context_length_exceeded"))
    );
    assert!(server.attempts().is_empty());
    assert_eq!(server.turn(&session, &json!({"messages": [user("short")]})).await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_limit_is_413() {
    let usual = Setting::default();
    let setting = Setting { limits: Limits { body: 1000, ..usual.limits }, ..usual };
    let server = Server::with(setting, [text("x")]).await;
    let session = server.open(json!({})).await;
    let (status, reply) = server.turn(&session, &json!({"messages": [user(&"x".repeat(2000))]})).await;
    assert_eq!((status, &reply["error"]["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("body_too_large")));
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_fields_are_told() {
    let server = Server::saying([text("x")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [{"role": "developer", "content": "be brief"}, user("hi")],
                      "user": "me", "store": false, "metadata": null});
    assert_eq!(server.turn(&session, &body).await.0, StatusCode::OK);
    assert_eq!(server.lost("field_ignored"), 2);
    assert_eq!(server.lost("role_mapped"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_options_of_a_session_are_named() {
    let server = Server::saying([text("x")]).await;
    let url = format!("{}/sessions", server.url);
    for (body, names) in [
        (json!({"matcher": "exact"}), "loose_replay"),
        (json!({"lineage": "list"}), "linear"),
        (json!({"groop": "a"}), "groop"),
    ] {
        let reply = server.client.post(&url).json(&body).send().await.unwrap();
        assert_eq!(reply.status(), StatusCode::BAD_REQUEST);
        let reply: Value = reply.json().await.unwrap();
        assert!(reply["error"]["message"].as_str().unwrap().contains(names), "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_over_the_limit_is_431() {
    let server = Server::saying([text("x")]).await;
    let request = server.client.get(format!("{}/health", server.url)).header("x-long", "x".repeat(100_000));
    assert_eq!(request.send().await.unwrap().status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
}
