//! OpenAI Responses as an agent sees it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use std::collections::HashSet;
use verbatim_engine_sim::Fault;

use crate::support::{Server, faulty, text, turn, user};

fn tools() -> Value {
    json!([{"type": "function", "name": "sh", "strict": false, "description": "Runs a command.",
            "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}},
           {"type": "web_search"}])
}

fn answer(call: &Value) -> Value {
    json!({"type": "function_call_output", "call_id": call["call_id"], "output": "done"})
}

fn two_turns() -> [verbatim_engine_sim::Line; 2] {
    [
        turn("Look first.", "I look.", &[("sh", "{\"cmd\": \"ls\"}"), ("sh", "{\"cmd\": \"pwd\"}")]),
        turn("", "Done.", &[]),
    ]
}

/// Every item of a reply of that type.
fn items<'a>(reply: &'a Value, kind: &str) -> Vec<&'a Value> {
    reply["output"].as_array().unwrap().iter().filter(|item| item["type"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_sent_back_whole_are_one_line() {
    let server = Server::saying(two_turns()).await;
    let session = server.open(json!({})).await;
    let first = json!({"instructions": "Be brief.", "input": [user("go")], "tools": tools(),
                       "include": ["reasoning.encrypted_content"]});
    let (status, reply) = server.post(&session, "responses", &first).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        (&reply["object"], &reply["status"], &reply["model"]),
        (&json!("response"), &json!("completed"), &json!("policy"))
    );
    assert_eq!(items(&reply, "message")[0]["content"][0]["text"], "I look.");
    assert_eq!(items(&reply, "reasoning")[0]["content"][0]["text"], "Look first.");
    let calls = items(&reply, "function_call");
    assert_eq!(calls[0]["arguments"], "{\"cmd\": \"ls\"}");
    let usage = &reply["usage"];
    assert_eq!(
        usage["total_tokens"].as_u64().unwrap(),
        usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap()
    );

    let mut input = vec![user("go")];
    input.extend(reply["output"].as_array().unwrap().iter().cloned());
    input.extend([answer(calls[0]), answer(calls[1])]);
    let second = json!({"instructions": "Be brief.", "input": input, "tools": tools()});
    let (status, reply) = server.post(&session, "responses", &second).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(items(&reply, "message")[0]["content"][0]["text"], "Done.");
    assert_eq!(server.tree(&session).await["leaves"].as_array().unwrap().len(), 1);
    assert_eq!((server.lost("respelt"), server.lost("forked"), server.lost("rerooted")), (0, 0, 0));
    assert_eq!(server.lost("field_ignored"), 1, "the web search was not offered, and that is told");
    let attempts = server.attempts();
    let before = [&attempts[0].prompt[..], &attempts[0].said[..]].concat();
    assert!(attempts[1].prompt.starts_with(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_name_the_reply_it_follows() {
    for instructions in [json!("Be brief."), Value::Null] {
        let server = Server::saying(two_turns()).await;
        let session = server.open(json!({})).await;
        let first = json!({"instructions": "Be brief.", "input": "go", "tools": tools()});
        let (_, reply) = server.post(&session, "responses", &first).await;
        let answers: Vec<_> = items(&reply, "function_call").into_iter().map(answer).collect();
        let second = json!({"instructions": instructions, "input": answers, "tools": tools(),
                            "previous_response_id": reply["id"]});
        let (status, told) = server.post(&session, "responses", &second).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        assert_eq!(told["previous_response_id"], reply["id"]);
        assert_eq!(server.tree(&session).await["leaves"].as_array().unwrap().len(), 1);
        assert_eq!((server.lost("forked"), server.lost("rerooted")), (0, 0));
        // The same again is a sibling.
        let (status, _) = server.post(&session, "responses", &second).await;
        assert_eq!((status, server.lost("forked")), (StatusCode::OK, 1));
        let attempts = server.attempts();
        assert_eq!(attempts[1].prompt, attempts[2].prompt);

        let unknown = json!({"input": "x", "previous_response_id": "resp_1"});
        let (status, refused) = server.post(&session, "responses", &unknown).await;
        assert_eq!(
            (status, &refused["error"]["param"]),
            (StatusCode::BAD_REQUEST, &json!("previous_response_id"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_instructions_begin_another_root_with_the_same_turns() {
    let server = Server::saying(["one", "two"].map(text)).await;
    let session = server.open(json!({})).await;
    let (_, reply) = server.post(&session, "responses", &json!({"instructions": "A.", "input": "go"})).await;
    let second = json!({"instructions": "B.", "input": "on", "previous_response_id": reply["id"]});
    let (status, _) = server.post(&session, "responses", &second).await;
    assert_eq!((status, server.lost("rerooted")), (StatusCode::OK, 1));
    let tree = server.tree(&session).await;
    let told = tree["nodes"].as_array().unwrap().iter().filter(|node| node["parent"].is_null());
    let roots: Vec<usize> = told.map(|root| root["messages"].as_array().unwrap().len()).collect();
    assert_eq!(roots, [2, 4], "instructions, question, reply, question");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_may_be_named_instead_of_sent() {
    let server = Server::saying(two_turns()).await;
    let session = server.open(json!({})).await;
    let (_, reply) = server.post(&session, "responses", &json!({"input": "go", "tools": tools()})).await;
    let mut input = vec![user("go")];
    input.extend(reply["output"].as_array().unwrap().iter().map(
        |item| match item["type"].as_str().unwrap() {
            // As the AI SDK does: calls in its own spelling, the rest by name.
            "function_call" => {
                json!({"type": "function_call", "call_id": item["call_id"], "name": item["name"],
                                  "arguments": item["arguments"].as_str().unwrap().replace(' ', "")})
            }
            _ => json!({"type": "item_reference", "id": item["id"]}),
        },
    ));
    input.extend(items(&reply, "function_call").into_iter().map(answer));
    let (status, told) = server.post(&session, "responses", &json!({"input": input, "tools": tools()})).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert_eq!((server.lost("respelt"), server.lost("forked"), server.lost("rerooted")), (1, 0, 0));
    let other = server.open(json!({})).await;
    let (status, refused) = server.post(&other, "responses", &json!({"input": input})).await;
    assert_eq!((status, &refused["error"]["param"]), (StatusCode::BAD_REQUEST, &json!("input[1].id")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_each_item_and_ends_after_the_commit() {
    let server = Server::saying(two_turns()).await;
    let (whole, streamed) = (server.open(json!({})).await, server.open(json!({})).await);
    let body = json!({"input": "go", "tools": tools(), "stream": true});
    let events = server.stream(&streamed, "responses", &body).await;
    assert_eq!(server.committed(&streamed), 1);
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(number)));
    }
    let kinds: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let mut order = kinds.clone();
    order.dedup();
    assert_eq!(
        order,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.reasoning_text.delta",
            "response.reasoning_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let last = &events.last().unwrap().1["response"];
    let done: Vec<&Value> = events
        .iter()
        .filter(|(name, _)| name == "response.output_item.done")
        .map(|(_, data)| &data["item"])
        .collect();
    assert_eq!(json!(done), last["output"]);
    let ids: HashSet<&str> =
        done.iter().flat_map(|item| [&item["id"], &item["call_id"]]).filter_map(Value::as_str).collect();
    assert_eq!(ids.len(), 6, "four items, two calls");

    drop(whole);
    let url = format!("{}/sessions/{streamed}/v1/responses/{}", server.url, last["id"].as_str().unwrap());
    let stored: Value = server.client.get(&url).send().await.unwrap().json().await.unwrap();
    assert_eq!((&stored["output"], &stored["usage"]), (&last["output"], &last["usage"]));
    let missing = server.client.get(format!("{url}0")).send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_reply_is_incomplete_and_a_failed_stream_says_so_and_nothing_more() {
    let server =
        Server::saying([text("one two three four"), faulty("one two three", Fault::DiesAfter(2))]).await;
    let session = server.open(json!({})).await;
    let body = json!({"input": "go", "max_output_tokens": 2});
    let (_, reply) = server.post(&session, "responses", &body).await;
    assert_eq!(
        (&reply["status"], &reply["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    let session = server.open(json!({})).await;
    let events = server.stream(&session, "responses", &json!({"input": "go", "stream": true})).await;
    let (name, last) = events.last().unwrap();
    assert_eq!((name.as_str(), &last["response"]["status"]), ("response.failed", &json!("failed")));
    assert_eq!(last["response"]["error"]["code"], "server_error");
    assert_eq!(server.committed(&session), 0);
}
