//! What an agent that behaves sees.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_engine_sim::Line;
use verbatim_tokens::TokenId;

use crate::support::{Server, Setting, events, says, text, user};

#[tokio::test(flavor = "multi_thread")]
async fn along_a_lineage_the_ids_are_what_the_engine_read_and_sampled() {
    let server = Server::saying(["one", "two", "three"].map(text)).await;
    let session = server.open(json!({})).await;
    let mut messages = vec![json!({"role": "system", "content": "Count."}), user("go")];
    for _ in 0..3 {
        let said = server.says(&session, &messages).await;
        messages.extend([said, user("on")]);
    }
    let attempts = server.attempts();
    for pair in attempts.windows(2) {
        let before: Vec<TokenId> = [&pair[0].prompt[..], &pair[0].said[..]].concat();
        assert!(pair[1].prompt.starts_with(&before), "a later prompt begins with all that came before");
    }
    let last = attempts.last().unwrap();
    let whole: Vec<TokenId> = [&last.prompt[..], &last.said[..]].concat();
    let session = server.sessions.get(&session).unwrap();
    session.with_forest(|forest| {
        assert_eq!(forest.gather(forest.head().unwrap()), whole);
        assert_eq!(forest.stored_tokens(), whole.len(), "each token is stored once");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_token_works_in_the_path_and_as_the_api_key() {
    let server = Server::saying(["one", "two"].map(text)).await;
    let session = server.open(json!({})).await;
    let said = server.says(&session, &[user("hi")]).await;
    let body = json!({"messages": [user("hi"), said, user("again")]});
    let url = format!("{}/v1/chat/completions", server.url);
    let reply = server.client.post(&url).bearer_auth(&session).json(&body).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(server.committed(&session), 2);
    assert_eq!(
        server.tree(&session).await["leaves"].as_array().unwrap().len(),
        1,
        "one lineage over both routes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_reply_is_the_whole_reply_in_pieces() {
    let said = "Hello — \u{1F600} there, one two three.";
    let server = Server::saying([text(said)]).await;
    let (whole, streamed) = (server.open(json!({})).await, server.open(json!({})).await);
    let (_, reply) = server.turn(&whole, &json!({"messages": [user("hi")], "logprobs": true})).await;
    let body = json!({"messages": [user("hi")], "stream": true, "logprobs": true,
                      "stream_options": {"include_usage": true}});
    let stream = server.chat(&streamed, &body).send().await.unwrap().text().await.unwrap();
    let mut chunks = events(&stream);
    assert_eq!(chunks.pop().as_deref(), Some("[DONE]"));
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let delta =
        |chunk: &Value, key: &str| chunk["choices"][0]["delta"][key].as_str().unwrap_or_default().to_owned();
    let content: String = chunks.iter().map(|chunk| delta(chunk, "content")).collect();
    assert_eq!(content, said);
    assert_eq!(reply["choices"][0]["message"]["content"], said);
    assert!(chunks.len() > 6, "it comes in pieces: {}", chunks.len());
    let logprobs: Vec<Value> = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["logprobs"]["content"].as_array().cloned())
        .flatten()
        .collect();
    assert_eq!(json!(logprobs), reply["choices"][0]["logprobs"]["content"]);
    assert_eq!(chunks.last().unwrap()["usage"], reply["usage"]);
    assert_eq!(reply["usage"]["completion_tokens"], logprobs.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_after_its_commit() {
    let server = Server::with(Setting::slow(Duration::from_millis(2)), [text("one two three")]).await;
    let session = server.open(json!({})).await;
    let mut reply =
        server.chat(&session, &json!({"messages": [user("hi")], "stream": true})).send().await.unwrap();
    let mut seen = String::new();
    while let Some(chunk) = reply.chunk().await.unwrap() {
        seen.push_str(&String::from_utf8_lossy(&chunk));
        if seen.contains("\"finish_reason\":\"stop\"") {
            assert_eq!(server.committed(&session), 1, "the terminal event was seen before the commit");
            return;
        }
    }
    panic!("no terminal event in {seen}");
}

fn weather(arguments: &str) -> Message {
    let call = ToolCall { id: None, name: "weather".into(), arguments: Arguments::Text(arguments.into()) };
    Message { tool_calls: vec![call], content: Content::Absent, ..Message::new(Role::Assistant, "") }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_comes_back_re_spelt_and_the_lineage_goes_on() {
    let call = Line { ids: says(&weather("{\"city\": \"Oslo\", \"days\": 2}")), fault: None };
    let server = Server::saying([call, text("Rain.")]).await;
    let session = server.open(json!({})).await;
    let tools =
        json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    let (_, reply) = server.turn(&session, &json!({"messages": [user("Oslo?")], "tools": tools})).await;
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "weather");
    // As most agents send it back: other spacing, an empty text for null.
    let respelt = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": call["id"], "type": "function", "function": {"name": "weather", "arguments": "{\"days\":2,\"city\":\"Oslo\"}"}}]});
    let result = json!({"role": "tool", "tool_call_id": call["id"], "content": "rain"});
    let body = json!({"messages": [user("Oslo?"), respelt, result], "tools": tools});
    let (status, reply) = server.turn(&session, &body).await;
    assert_eq!((status, &reply["choices"][0]["message"]["content"]), (StatusCode::OK, &json!("Rain.")));
    assert_eq!(server.tree(&session).await["leaves"].as_array().unwrap().len(), 1);
    assert_eq!(server.lost("respelt"), 1, "the re-spelling is told");
    let attempts = server.attempts();
    let before: Vec<TokenId> = [&attempts[0].prompt[..], &attempts[0].said[..]].concat();
    assert!(attempts[1].prompt.starts_with(&before), "nothing sampled is encoded again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_string_ends_the_content_before_it_and_the_ids_with_the_token_that_completed_it() {
    let server = Server::saying([text("one two three four")]).await;
    let session = server.open(json!({})).await;
    let (_, reply) = server.turn(&session, &json!({"messages": [user("hi")], "stop": " three"})).await;
    assert_eq!(reply["choices"][0]["message"]["content"], "one two");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    let said = &server.attempts()[0].said;
    let sampled = reply["usage"]["completion_tokens"].as_u64().unwrap() as usize;
    assert!(sampled < said.len(), "{sampled} of {}", said.len());
    server.until("the engine let go", |server| server.engine.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn max_completion_tokens_wins_over_max_tokens() {
    let server = Server::saying([text("one two three four five")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "max_tokens": 4, "max_completion_tokens": 2});
    let (_, reply) = server.turn(&session, &body).await;
    assert_eq!(reply["usage"]["completion_tokens"], 2);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_choice_none_hides_the_tools_from_the_model() {
    let server = Server::saying([text("no")]).await;
    let tools = json!([{"type": "function", "function": {"name": "secret_tool", "parameters": {}}}]);
    let mut prompts = Vec::new();
    for choice in ["auto", "none"] {
        let session = server.open(json!({})).await;
        let body = json!({"messages": [user("hi")], "tools": tools, "tool_choice": choice});
        assert_eq!(server.turn(&session, &body).await.0, StatusCode::OK);
        prompts.push(server.attempts().last().unwrap().prompt.len());
    }
    assert!(prompts[1] < prompts[0], "{prompts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reply_has_an_id_of_its_own() {
    let server = Server::saying([text("same")]).await;
    let mut ids = std::collections::HashSet::new();
    for _ in 0..5 {
        let session = server.open(json!({})).await;
        let (_, reply) = server.turn(&session, &json!({"messages": [user("hi")]})).await;
        assert!(ids.insert(reply["id"].as_str().unwrap().to_owned()));
    }
}
