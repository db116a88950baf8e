//! What Miles' users ask of a session server: its dump, its one-chunk streams, its samples.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use verbatim_chat::{Arguments, Message, Role, ToolCall};
use verbatim_engine_sim::Line;
use verbatim_tokens::TokenId;

use crate::support::{Server, Setting, events, says, text, user};

async fn get(server: &Server, path: &str) -> Value {
    server.client.get(format!("{}{path}", server.url)).send().await.unwrap().json().await.unwrap()
}

/// A reply that calls two functions.
fn calls() -> Line {
    let call = |name: &str, arguments: &str| ToolCall {
        id: None,
        name: name.into(),
        arguments: Arguments::Text(arguments.into()),
    };
    let message = Message {
        tool_calls: vec![call("f", r#"{"a": 1}"#), call("g", "{}")],
        ..Message::new(Role::Assistant, "so")
    };
    Line { ids: says(&message), fault: None }
}

fn tools() -> Value {
    let tool =
        |name| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    json!([tool("f"), tool("g")])
}

#[tokio::test(flavor = "multi_thread")]
async fn health_names_the_process() {
    let server = Server::saying([text("a")]).await;
    let (first, second) = (get(&server, "/health").await, get(&server, "/health").await);
    assert_eq!(first, second);
    assert_eq!(first["status"], "ok");
    let id = first["session_server_instance_id"].as_str().unwrap();
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    let other = Server::saying([text("a")]).await;
    assert_ne!(get(&other, "/health").await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_has_no_records_and_nothing_to_compare() {
    let server = Server::saying([text("a")]).await;
    for (lineage, tree) in [("linear", Value::Null), ("tree", json!({"nodes": [], "leaves": []}))] {
        let session = server.open(json!({"lineage": lineage})).await;
        let shown = server.tree(&session).await;
        assert_eq!((&shown["session_id"], &shown["records"]), (&json!(session), &json!([])));
        let metadata = &shown["metadata"];
        assert_eq!(metadata["accumulated_token_ids"], json!([]));
        assert_eq!(metadata["max_trim_tokens"], 0);
        assert_eq!((&metadata["tree"], &metadata["tito_session_mismatch"]), (&tree, &Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_the_request_as_an_engine_had_it_and_all_that_was_sampled() {
    let server = Server::saying([text("a"), text("b")]).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let body = json!({"messages": [user("hi")], "temperature": 0.5});
    let first = server.turn(&session, &body).await.1["choices"][0]["message"].clone();
    server.says(&session, &[user("hi"), first, user("on")]).await;

    let shown = server.tree(&session).await;
    let records = shown["records"].as_array().unwrap();
    let attempts = server.attempts();
    assert_eq!(records.len(), 2);
    for (record, attempt) in records.iter().zip(&attempts) {
        assert_eq!(record["request"]["input_ids"], json!(TokenId::raw(&attempt.prompt)));
        let meta = &record["response"]["choices"][0]["meta_info"];
        let sampled: Vec<_> =
            meta["output_token_logprobs"].as_array().unwrap().iter().map(|pair| pair[1].clone()).collect();
        assert_eq!(json!(sampled), json!(TokenId::raw(&attempt.said)));
        assert_eq!(meta["completion_tokens"], attempt.said.len());
        assert_eq!(meta["prompt_tokens"], attempt.prompt.len());
        assert!(meta["output_token_logprobs"][0][0].as_f64().unwrap() <= 0.0);
        assert_eq!((&record["method"], &record["path"]), (&json!("POST"), &json!("/v1/chat/completions")));
        assert_eq!(record["status_code"], 200);
        assert_eq!(
            (&record["request"]["logprobs"], &record["request"]["no_stop_trim"]),
            (&json!(true), &json!(false))
        );
        assert!(record["request_timestamp"].as_f64() <= record["timestamp"].as_f64());
    }
    assert_eq!(records[0]["request"]["temperature"], 0.5);
    assert_eq!(records[1]["request"]["messages"].as_array().unwrap().len(), 3);
    assert_eq!(records[0]["response"]["choices"][0]["message"]["content"], "a");
    let all = [&attempts[1].prompt[..], &attempts[1].said[..]].concat();
    assert_eq!(shown["metadata"]["accumulated_token_ids"], json!(TokenId::raw(&all)));
    assert_eq!(shown["metadata"]["tito_session_mismatch"], json!([]));

    let light = get(&server, &format!("/sessions/{session}?records=false&audit=false")).await;
    assert_eq!((&light["records"], &light["metadata"]["tito_session_mismatch"]), (&json!([]), &Value::Null));
    let wrong =
        server.client.get(format!("{}/sessions/{session}?recrods=1", server.url)).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_is_told_in_miles_numbers_and_only_the_last_line_has_records() {
    let server = Server::saying(["a", "b", "c"].map(text)).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    server.says(&session, &[user("hi"), first.clone(), user("left")]).await;
    server.says(&session, &[user("hi"), first, user("right")]).await;
    let shown = server.tree(&session).await;
    let tree = &shown["metadata"]["tree"];
    let parents: Vec<_> =
        tree["nodes"].as_array().unwrap().iter().map(|node| node["parent"].clone()).collect();
    assert_eq!(parents, [Value::Null, json!(0), json!(0)]);
    assert_eq!(
        tree["leaves"],
        json!([{"node_id": 1, "path_node_ids": [0, 1]}, {"node_id": 2, "path_node_ids": [0, 2]}])
    );
    let attempts = server.attempts();
    for (node, attempt) in tree["nodes"].as_array().unwrap().iter().zip(&attempts) {
        let (start, end) = (attempt.prompt.len(), attempt.prompt.len() + attempt.said.len());
        assert_eq!((&node["completion_span"], &node["num_tokens"]), (&json!([start, end]), &json!(end)));
        assert_eq!((&node["id"], &node["truncated"]), (&node["seq"], &json!(false)));
    }
    let records = shown["records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[1]["response"]["choices"][0]["message"]["content"], "c");
    assert_eq!(records[1]["response"]["id"], tree["nodes"][2]["response_id"]);
}

/// What the model re-spelt when it sampled is a mismatch of the assistant's text, and nothing else is.
#[tokio::test(flavor = "multi_thread")]
async fn a_drift_of_the_kept_ids_is_told() {
    let mut odd = text("one");
    // The template would write no spaces before the end.
    let space = text("one  ").ids;
    odd.ids = space;
    let server = Server::saying([odd, text("b")]).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    let mut trimmed = first.clone();
    trimmed["content"] = json!(first["content"].as_str().unwrap());
    server.says(&session, &[user("hi"), trimmed, user("on")]).await;
    let shown = server.tree(&session).await;
    assert!(shown["metadata"]["tito_session_mismatch"].is_array(), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_chunk_holds_the_whole_reply_with_calls_in_their_places() {
    let server = Server::saying([calls()]).await;
    let session = server.open(json!({})).await;
    let body = |stream: bool| json!({"messages": [user("hi")], "tools": tools(), "stream": stream, "stream_options": {"one_chunk": true}});
    let (_, whole) = server.turn(&session, &body(false)).await;
    let reply = server.chat(&session, &body(true)).send().await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    assert_eq!(reply.headers()["x-accel-buffering"], "no");
    let sent = events(&reply.text().await.unwrap());
    assert_eq!((sent.len(), sent[1].as_str()), (2, "[DONE]"));
    let chunk: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!((&chunk["object"], &chunk["model"]), (&json!("chat.completion.chunk"), &whole["model"]));
    let (choice, message) = (&chunk["choices"][0], &whole["choices"][0]["message"]);
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!((&choice["delta"]["role"], &choice["delta"]["content"]), (&json!("assistant"), &json!("so")));
    for count in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        assert_eq!(chunk["usage"][count], whole["usage"][count], "usage is told unasked");
    }
    for (at, call) in choice["delta"]["tool_calls"].as_array().unwrap().iter().enumerate() {
        assert_eq!(call["index"], at);
        assert_eq!(call["function"], message["tool_calls"][at]["function"]);
    }
    assert_eq!(server.committed(&session), 2);
}

/// Where the server is told to stream so, no client has to ask; a refusal keeps its status and leaves no record.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_stream_in_one_chunk_always() {
    let server =
        Server::with(Setting { one_chunk: true, ..Setting::default() }, [text("one two three")]).await;
    let session = server.open(json!({})).await;
    let streamed = |limit: u32, more: Value| {
        let mut body = json!({"messages": [user("hi")], "stream": true, "max_tokens": limit});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.chat(&session, &body).send()
    };
    let refused = streamed(9, json!({"n": 2})).await.unwrap();
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert!(refused.json::<Value>().await.unwrap()["error"]["message"].is_string());
    assert_eq!(server.committed(&session), 0);
    let sent = events(&streamed(2, json!({})).await.unwrap().text().await.unwrap());
    let chunk: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(chunk["choices"][0]["finish_reason"], "length");
    assert_eq!((sent.len(), &chunk["usage"]["completion_tokens"]), (2, &json!(2)));
}

/// The message that a client puts together from one chunk passes as the stored one.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_rebuilt_from_one_chunk_is_the_stored_one_to_strict() {
    let server =
        Server::with(Setting { one_chunk: true, ..Setting::default() }, [calls(), text("done")]).await;
    let session = server.open(json!({"matcher": "strict", "lineage": "linear"})).await;
    let body = json!({"messages": [user("hi")], "tools": tools(), "stream": true});
    let sent = events(&server.chat(&session, &body).send().await.unwrap().text().await.unwrap());
    let chunk: Value = serde_json::from_str(&sent[0]).unwrap();
    // As SDKs add up deltas: the places stay in the calls.
    let message = chunk["choices"][0]["delta"].clone();
    let result =
        |at: usize| json!({"role": "tool", "content": "4", "tool_call_id": message["tool_calls"][at]["id"]});
    let messages = json!([user("hi"), message, result(0), result(1)]);
    let (status, reply) = server.turn(&session, &json!({"messages": messages, "tools": tools()})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(server.lost("rolled_back"), 0);
    assert_eq!(server.tree(&session).await["records"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn meta_info_is_told_where_it_is_asked_for() {
    let server = Server::saying([text("one two")]).await;
    let session = server.open(json!({})).await;
    let (_, plain) = server.turn(&session, &json!({"messages": [user("hi")]})).await;
    assert_eq!(plain["choices"][0]["meta_info"], Value::Null);
    let (_, told) = server.turn(&session, &json!({"messages": [user("hi")], "return_meta_info": true})).await;
    let meta = &told["choices"][0]["meta_info"];
    let pairs = meta["output_token_logprobs"].as_array().unwrap();
    assert_eq!(meta["completion_tokens"], pairs.len());
    assert_eq!(pairs[0][1], text("one two").ids[0].0);
    assert_eq!(meta["routed_experts"], Value::Null, "payloads are no agent's business");
}

/// Two of either made aiohttp and LiteLLM fail (Miles §1.3).
#[tokio::test(flavor = "multi_thread")]
async fn no_header_comes_twice() {
    let server = Server::saying([text("a")]).await;
    let session = server.open(json!({})).await;
    let address = server.url.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = json!({"messages": [user("hi")]}).to_string();
    let head = format!(
        "POST /sessions/{session}/v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).await.unwrap();
    let head = reply.split("\r\n\r\n").next().unwrap().to_lowercase();
    let mut names: Vec<_> = head.lines().skip(1).filter_map(|line| line.split(':').next()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{head}");
    assert!(names.contains(&"date"));
}

/// The `_samples_meta` of a samples file.
fn meta(file: &[u8]) -> Value {
    let file = safetensors::SafeTensors::deserialize(file).unwrap();
    serde_json::from_slice(file.tensor("_samples_meta").unwrap().data()).unwrap()
}

async fn samples(server: &Server, session: &str, asked: Value) -> Value {
    let url = format!("{}/sessions/{session}/samples", server.url);
    let reply = server.client.post(url).json(&asked).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    meta(&reply.bytes().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_say_what_the_session_says_and_where_each_leaf_is() {
    let server = Server::saying(["a", "b", "c", "d"].map(text)).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[user("hi")]).await;
    server.says(&session, &[user("hi"), first.clone(), user("left")]).await;
    let right = server.says(&session, &[user("hi"), first.clone(), user("right")]).await;
    server.says(&session, &[user("hi"), first, user("right"), right, user("on")]).await;
    let shown = server.tree(&session).await;

    let agent = json!({"reward": 0.5, "note": "x", "leaf": "planted", "accumulated_token_ids": "planted"});
    let made = samples(&server, &session, json!({"metadata": agent, "pick": "keep_all"})).await;
    let told = &made["session_metadata"];
    for key in ["accumulated_token_ids", "max_trim_tokens", "tito_session_mismatch", "tree"] {
        assert_eq!(told[key], shown["metadata"][key], "{key}");
    }
    assert_eq!(told["agent"], agent);
    let rows = made["samples"].as_array().unwrap();
    let leaves: Vec<_> = rows.iter().map(|row| row["metadata"]["leaf"]["path_node_ids"].clone()).collect();
    assert_eq!(leaves, [json!([0, 2, 3]), json!([0, 1])], "longer paths first");
    for row in rows {
        let metadata = &row["metadata"];
        assert_eq!((&row["reward"], &metadata["note"]), (&json!(0.5), &json!("x")));
        assert_eq!(metadata["tito_session_mismatch"], json!([]));
        let turns = metadata["lifecycle"].as_array().unwrap();
        assert_eq!(turns.len(), metadata["leaf"]["path_node_ids"].as_array().unwrap().len());
        for (at, turn) in turns.iter().enumerate() {
            assert_eq!((&turn["turn"], turn["prev_t1"].is_null()), (&json!(at + 1), at == 0));
            assert!(
                turn["req_ts"].as_f64() <= turn["t0"].as_f64() && turn["t0"].as_f64() <= turn["t1"].as_f64()
            );
        }
        let leaf = metadata["leaf"]["node_id"].as_u64().unwrap() as usize;
        assert_eq!(metadata["leaf"]["response_id"], told["tree"]["nodes"][leaf]["response_id"]);
        let ids = metadata["accumulated_token_ids"].as_array().unwrap();
        assert_eq!(ids.len() as u64, told["tree"]["nodes"][leaf]["num_tokens"].as_u64().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_yields_one_sample_and_says_why_there_is_none() {
    let server = Server::saying(["a", "b"].map(text)).await;
    let session = server.open(json!({"lineage": "linear"})).await;
    let none = samples(&server, &session, json!({})).await;
    assert_eq!((&none["samples"], &none["empty_reason"]), (&json!([]), &json!("no_records")));
    let first = server.says(&session, &[user("hi")]).await;
    let one = samples(&server, &session, json!({})).await;
    assert!(one["samples"][0]["metadata"]["lifecycle"].is_object(), "of one turn it is no list");
    server.says(&session, &[user("hi"), first, user("on")]).await;
    let all = samples(&server, &session, json!({"metadata": {"reward": {"score": 1.0}}})).await;
    assert_eq!(all["samples"].as_array().unwrap().len(), 1);
    assert_eq!(all["samples"][0]["reward"], json!({"score": 1.0}), "an object stays one");
    assert_eq!((&all["session_metadata"]["tree"], &all["empty_reason"]), (&Value::Null, &Value::Null));
    let cut = samples(&server, &session, json!({"max_seq_len": 1})).await;
    assert_eq!((&cut["samples"], &cut["empty_reason"]), (&json!([]), &json!("all_truncated")));
}
