//! Turns whose prompt is the client's own: text, or ids.

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_events::NodeId;
use verbatim_tokens::TokenId;

use crate::support::{Server, Setting, events, faulty, says, text, user};
use verbatim_chat::{Message, Role};
use verbatim_engine_sim::Fault;

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

async fn tokens(server: &Server, session: &str, input: &[u32]) -> Value {
    let (status, reply) = server.post(session, "tokens", &json!({"input_ids": input})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    reply
}

/// The turn that each turn of the session follows.
fn parents(server: &Server, session: &str) -> Vec<Option<NodeId>> {
    let session = server.sessions.get(session).unwrap();
    session.with_forest(|forest| {
        let turns = forest.nodes().filter(|(_, node)| node.generation().is_some());
        turns.map(|(id, _)| forest.parent_turn(id)).collect()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_of_ids_goes_on_where_it_begins_with_what_is_held() {
    let server =
        Server::saying([text("one two"), text("three"), text("four"), text("five"), text("six")]).await;
    let session = server.open(json!({})).await;
    let first = tokens(&server, &session, &[9, 8, 7]).await;
    let said = ids(&first["output_ids"]);
    assert_eq!(said, TokenId::raw(&says(&Message::new(Role::Assistant, "one two"))), "stop token included");
    assert_eq!(
        (&first["text"], &first["finish_reason"]),
        (&json!("<think>\n\n</think>\n\none two"), &json!("stop"))
    );
    assert_eq!(
        (first["logprobs"].as_array().unwrap().len(), &first["versions"]),
        (said.len(), &json!([["0", said.len()]]))
    );
    // It goes on, id for id.
    let longer = [&[9, 8, 7][..], &said, &[5, 5]].concat();
    let second = tokens(&server, &session, &longer).await;
    // The same prompt again is a sibling, another beginning a root.
    tokens(&server, &session, &longer).await;
    let mut other = longer.clone();
    other[4] = 1;
    tokens(&server, &session, &other).await;
    let longest = [&longer[..], &ids(&second["output_ids"])].concat();
    tokens(&server, &session, &longest).await;
    let attempts = server.attempts();
    let read: Vec<&[u32]> = attempts.iter().map(|attempt| TokenId::raw(&attempt.prompt)).collect();
    assert_eq!(read, [&[9, 8, 7][..], &longer, &longer, &other, &longest]);
    let held = parents(&server, &session);
    let node = |at: usize| Some(NodeId(at as u32));
    assert_eq!(held, [None, node(1), node(1), None, node(3)]);
    let audit = server.tree(&session).await;
    assert!(audit.is_object(), "{audit}");
    // Each sampled token has one owner, and what the client sent has none.
    let rows = server.client.post(format!("{}/sessions/{session}/samples", server.url));
    let rows = rows.json(&json!({"format": "jsonl", "pick": "all"})).send().await.unwrap();
    assert_eq!(rows.status(), StatusCode::OK);
    let rows = rows.text().await.unwrap();
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_and_ids_are_kept_apart_and_share_what_was_sampled() {
    let server = Server::saying([text("hello"), text("more"), text("again"), text("anew")]).await;
    let session = server.open(json!({})).await;
    let said = server.says(&session, &[user("hi")]).await;
    let prompt = TokenId::raw(&server.attempts()[0].prompt).to_vec();
    let spoken = TokenId::raw(&server.attempts()[0].said).to_vec();
    // Ids go on after a turn of a conversation.
    let longer = [&prompt[..], &spoken, &[3, 4]].concat();
    tokens(&server, &session, &longer).await;
    assert_eq!(parents(&server, &session), [None, Some(NodeId(1))]);
    // A conversation does not go on after ids, though the same was said there.
    let sent = [user("hi"), said, user("and?")];
    server.says(&session, &sent).await;
    assert_eq!(parents(&server, &session)[2], Some(NodeId(1)));
    let more = json!({"role": "assistant", "content": "more"});
    server.says(&session, &[user("hi"), more, user("and?")]).await;
    assert_eq!(
        parents(&server, &session)[3],
        None,
        "what was said after ids is no message of a conversation"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_as_openai_has_it() {
    let server = Server::saying([text("one two three")]).await;
    let session = server.open(json!({})).await;
    let body =
        json!({"prompt": "<|im_start|>user\nhi", "max_tokens": 99, "logprobs": 0, "return_token_ids": true});
    let (status, reply) = server.post(&session, "completions", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let choice = &reply["choices"][0];
    assert_eq!((&reply["object"], &choice["finish_reason"]), (&json!("text_completion"), &json!("stop")));
    assert!(choice["text"].as_str().unwrap().ends_with("one two three"), "{choice}");
    let read = server.attempts()[0].prompt.clone();
    assert_eq!(read[0], crate::support::family().tokenizer().special("<|im_start|>").unwrap());
    let (tokens, offsets) = (&choice["logprobs"]["tokens"], &choice["logprobs"]["text_offset"]);
    let spelt: String = tokens.as_array().unwrap().iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!(spelt, format!("{}<|im_end|>", choice["text"].as_str().unwrap()));
    assert_eq!(offsets.as_array().unwrap().len(), ids(&choice["token_ids"]).len());
    assert_eq!(reply["usage"]["completion_tokens"], json!(ids(&choice["token_ids"]).len()));

    let mut body = body;
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let url = format!("{}/sessions/{session}/v1/completions", server.url);
    let streamed = server.client.post(url).json(&body).send().await.unwrap().text().await.unwrap();
    let chunks = events(&streamed);
    assert_eq!(chunks.last().unwrap(), "[DONE]");
    let chunks: Vec<Value> =
        chunks[..chunks.len() - 1].iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let all = |path: &str| chunks.iter().filter_map(|chunk| chunk.pointer(path).cloned()).collect::<Vec<_>>();
    let told: String = all("/choices/0/text").iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    assert_eq!(told, choice["text"].as_str().unwrap());
    let told: Vec<u32> = all("/choices/0/token_ids").iter().flat_map(ids).collect();
    assert_eq!(told, ids(&choice["token_ids"]), "each id once, the stop token with the last chunk");
    assert_eq!(chunks.last().unwrap()["usage"]["completion_tokens"], json!(told.len()));
    assert_eq!(server.committed(&session), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_stops_resumes_and_is_refused_as_any_turn() {
    let whole = text("one two three four").ids;
    let rest = verbatim_engine_sim::Line { ids: whole[3..].to_vec(), fault: None };
    let lines = [faulty("one two three four", Fault::AbortsAfter(3)), rest, text("one two three four")];
    let server = Server::saying(lines).await;
    let session = server.open(json!({})).await;
    let reply = tokens(&server, &session, &[9, 8]).await;
    assert_eq!(ids(&reply["output_ids"]), TokenId::raw(&whole), "it went on after what came");
    let (_, reply) = server
        .post(&session, "completions", &json!({"prompt": [4, 5], "stop": " three", "max_tokens": 99}))
        .await;
    assert!(reply["choices"][0]["text"].as_str().unwrap().ends_with("one two"), "{reply}");
    let table = [
        ("completions", json!({"prompt": []}), "prompt"),
        ("completions", json!({"prompt": ""}), "prompt"),
        ("completions", json!({"prompt": "a", "echo": true}), "echo"),
        ("completions", json!({"prompt": [4_000_000]}), "prompt"),
        ("tokens", json!({"input_ids": [4_000_000]}), "input_ids"),
        ("tokens", json!({"input_ids": "a"}), "input_ids"),
        ("tokens", json!({"input_ids": [1], "stream": true}), "stream"),
        ("tokens", json!({"input_ids": [1], "regex": "a"}), "regex"),
    ];
    for (route, body, field) in table {
        let (status, reply) = server.post(&session, route, &body).await;
        assert_eq!((status, &reply["error"]["param"]), (StatusCode::BAD_REQUEST, &json!(field)), "{reply}");
    }
    // A line takes one turn back, and no more.
    let line = server.open(json!({"lineage": "linear"})).await;
    let first = tokens(&server, &line, &[1, 2]).await;
    let longer = [&[1, 2][..], &ids(&first["output_ids"])].concat();
    tokens(&server, &line, &longer).await;
    let (status, reply) = server.post(&line, "tokens", &json!({"input_ids": [3]})).await;
    assert_eq!(
        (status, &reply["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!("lineage_diverged")),
        "{reply}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_is_counted_in_every_dialect() {
    let server = Server::with(Setting::default(), [crate::support::turn("let me see", "so", &[])]).await;
    let session = server.open(json!({})).await;
    let (_, chat) = server.turn(&session, &json!({"messages": [user("a")]})).await;
    let counted = chat["usage"]["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
    // The marks, the newlines and the words between them; not what follows.
    let all = says(&Message { reasoning: Some("let me see".into()), ..Message::new(Role::Assistant, "so") });
    let close = crate::support::family().tokenizer().special("</think>").unwrap();
    let expected = all.iter().position(|id| *id == close).unwrap() + 1;
    assert_eq!(counted as usize, expected);
    let (_, reply) = server.post(&session, "responses", &json!({"input": "b"})).await;
    assert_eq!(reply["usage"]["output_tokens_details"]["reasoning_tokens"], json!(counted));
    let url = format!("{}/sessions/{session}/v1/responses/{}", server.url, reply["id"].as_str().unwrap());
    let stored: Value = server.client.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(stored["usage"], reply["usage"]);
    let body = json!({"messages": [user("c")], "max_tokens": 99});
    let (_, message) = server.post(&session, "messages", &body).await;
    assert_eq!(message["usage"]["output_tokens_details"]["thinking_tokens"], json!(counted));
    let mut streamed = body;
    streamed["stream"] = json!(true);
    let told = server.stream(&session, "messages", &streamed).await;
    let delta = told.iter().rev().find(|(name, _)| name == "message_delta").unwrap();
    assert_eq!(delta.1["usage"]["output_tokens_details"]["thinking_tokens"], json!(counted));
}
