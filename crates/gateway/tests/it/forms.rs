//! Replies that must call, or must have a form: kept by an engine that can, refused by name where it cannot.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_engine_sim::{Fault, Line};

use crate::support::{Server, Setting, events, text, user};

fn holding() -> Setting {
    Setting { forms: true, ..Setting::default() }
}

fn schema() -> Value {
    json!({
        "type": "object", "required": ["city", "degrees"], "additionalProperties": false,
        "properties": {"city": {"type": "string"}, "degrees": {"type": "integer", "minimum": -5, "maximum": 40}},
    })
}

fn tools() -> Value {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "description": "d", "parameters": schema()}});
    json!([tool("look"), tool("tell")])
}

/// Whether a value is what [`schema`] allows.
fn fits(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap();
    value["city"].is_string() && (-5..=40).contains(&value["degrees"].as_i64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_must_be_json_is_in_every_dialect() {
    let server = Server::with(holding(), [text("no JSON at all")]).await;
    let format = json!({"type": "json_schema", "json_schema": {"name": "w", "schema": schema()}});
    let flat = json!({"type": "json_schema", "name": "w", "schema": schema()});
    for thinks in [true, false] {
        let session = server.open(json!({})).await;
        let kwargs = json!({"enable_thinking": thinks});
        let body = json!({
            "messages": [user("how is it?")], "response_format": format, "chat_template_kwargs": kwargs,
        });
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let message = &reply["choices"][0]["message"];
        assert!(fits(message["content"].as_str().unwrap()), "{message}");

        let body = json!({"input": "how?", "text": {"format": flat}, "chat_template_kwargs": kwargs});
        let (status, reply) = server.post(&session, "responses", &body).await;
        assert_eq!((status, &reply["text"]["format"]), (StatusCode::OK, &flat), "{reply}");
        let output = reply["output"].as_array().unwrap();
        assert!(fits(output.last().unwrap()["content"][0]["text"].as_str().unwrap()), "{reply}");

        let body = json!({
            "messages": [user("how, then?")], "max_tokens": 99, "output_config": {"format": flat},
            "chat_template_kwargs": kwargs,
        });
        let (status, reply) = server.post(&session, "messages", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let content = reply["content"].as_array().unwrap();
        assert!(fits(content.last().unwrap()["text"].as_str().unwrap()), "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_must_call_calls_what_it_must() {
    let server = Server::with(holding(), [text("I would rather not")]).await;
    let named = json!({"type": "function", "function": {"name": "tell"}});
    let (mut thought, mut twice) = (0, 0);
    for turn in 0..24 {
        let session = server.open(json!({})).await;
        let choice = if turn % 2 == 0 { json!("required") } else { named.clone() };
        let single = turn % 3 == 0;
        let body = json!({
            "messages": [user(&format!("go {turn}"))], "tools": tools(), "tool_choice": choice,
            "parallel_tool_calls": !single, "seed": turn,
        });
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let (choice, message) = (&reply["choices"][0], &reply["choices"][0]["message"]);
        assert_eq!(choice["finish_reason"], "tool_calls", "{reply}");
        let calls = message["tool_calls"].as_array().unwrap();
        assert!(!calls.is_empty(), "{reply}");
        assert!(!single || calls.len() == 1, "{reply}");
        for call in calls {
            assert!(fits(call["function"]["arguments"].as_str().unwrap()), "{call}");
            assert!(turn % 2 == 0 || call["function"]["name"] == "tell", "{call}");
        }
        thought += usize::from(message["reasoning_content"].is_string());
        twice += usize::from(calls.len() > 1);
    }
    assert!(thought > 0 && thought < 24 && twice > 0, "{thought} thought, {twice} called twice");
    assert_eq!(server.lost("field_ignored"), 0, "one call at most was kept, not ignored");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tools_a_reply_of_a_form_may_call_instead() {
    let server = Server::with(holding(), [text("neither")]).await;
    let (mut called, mut said) = (0, 0);
    for turn in 0..16 {
        let session = server.open(json!({})).await;
        let format = json!({"type": "json_schema", "json_schema": {"name": "w", "schema": schema()}});
        let body =
            json!({"messages": [user("go")], "tools": tools(), "response_format": format, "seed": turn});
        let (_, reply) = server.turn(&session, &body).await;
        let message = &reply["choices"][0]["message"];
        match message["tool_calls"].as_array() {
            Some(calls) => called += usize::from(!calls.is_empty()),
            None => said += usize::from(fits(message["content"].as_str().unwrap())),
        }
    }
    assert!(called > 0 && said > 0 && called + said == 16, "{called} {said}");
}

/// An engine begins a form anew at the end of the prompt it is given: a turn that was cut is begun anew, and nothing of
/// it was told.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_reply_of_a_form_is_begun_anew() {
    let faults = [Fault::AbortsAfter(3), Fault::CutAfter(5), Fault::ShortLogprobs];
    for (stream, fault) in [false, true].into_iter().flat_map(|stream| faults.map(|fault| (stream, fault))) {
        let faulty = Line { fault: Some(fault), ..text("x") };
        let server = Server::with(holding(), [faulty, text("x")]).await;
        let session = server.open(json!({})).await;
        let body = json!({
            "messages": [user("go")], "tools": tools(), "tool_choice": "required", "stream": stream,
        });
        let reply = server.chat(&session, &body).send().await.unwrap().text().await.unwrap();
        let arguments: Vec<String> = if stream {
            let chunks = events(&reply);
            let chunks = chunks.iter().filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
            let mut calls: Vec<String> = Vec::new();
            for chunk in chunks {
                for call in chunk["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
                    let at = call["index"].as_u64().unwrap() as usize;
                    calls.resize(calls.len().max(at + 1), String::new());
                    calls[at] += call["function"]["arguments"].as_str().unwrap_or_default();
                }
            }
            calls
        } else {
            let reply: Value = serde_json::from_str(&reply).unwrap();
            let calls = reply["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
            calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap().to_owned()).collect()
        };
        assert!(!arguments.is_empty() && arguments.iter().all(|text| fits(text)), "{fault:?}: {reply}");
        let attempts = server.attempts();
        assert_eq!(attempts.len(), 2, "{fault:?}");
        assert_eq!(attempts[0].prompt, attempts[1].prompt, "{fault:?}: it is the same prompt again");
        assert_eq!(server.committed(&session), 1);
    }
}

/// The gate closes in the middle of a streamed reply of a form: the agent sees one slow reply.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_closes_on_a_reply_of_a_form_is_not_seen() {
    let slow = Setting::slow(Duration::from_millis(10));
    let server = Server::with(Setting { forms: true, ..slow }, [text("x")]).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("go")], "tools": tools(), "tool_choice": "required", "stream": true});
    let asked = tokio::spawn(server.chat(&session, &body).send());
    server.until("it runs", |server| server.engine.running() == 1).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    server.client.post(format!("{}/control/pause", server.url)).send().await.unwrap();
    server.until("it was aborted", |server| server.engine.running() == 0).await;
    server.client.post(format!("{}/control/resume", server.url)).send().await.unwrap();
    let reply = asked.await.unwrap().unwrap().text().await.unwrap();
    assert!(reply.contains("\"finish_reason\":\"tool_calls\"") && reply.ends_with("[DONE]\n\n"), "{reply}");
    assert_eq!((server.attempts().len(), server.committed(&session)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_is_refused_with_its_field_and_a_way_out() {
    let (can, cannot) = (Server::with(holding(), [text("x")]).await, Server::saying([text("x")]).await);
    let table = [
        (&cannot, json!({"response_format": {"type": "json_object"}}), "response_format", "leave it out"),
        (&cannot, json!({"tools": tools(), "tool_choice": "required"}), "tool_choice", "leave it out"),
        (&can, json!({"tool_choice": "required"}), "tool_choice", "does not declare"),
        (
            &can,
            json!({"tools": tools(), "tool_choice": {"type": "function", "function": {"name": "no"}}}),
            "tool_choice",
            "does not declare",
        ),
        (&can, json!({"regex": "a+"}), "regex", "a regular expression"),
        (&can, json!({"structural_tag": {"type": "structural_tag"}}), "structural_tag", "a structural tag"),
        (&can, json!({"grammar": "root ::= x"}), "grammar", "a grammar"),
    ];
    for (server, more, field, words) in table {
        let session = server.open(json!({})).await;
        let mut body = json!({"messages": [user("go")]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, reply) = server.turn(&session, &body).await;
        assert_eq!((status, &reply["error"]["param"]), (StatusCode::BAD_REQUEST, &json!(field)), "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(words), "{reply}");
        assert_eq!(server.committed(&session), 0);
    }
    let session = cannot.open(json!({})).await;
    let body = json!({
        "messages": [user("go")], "max_tokens": 9, "tools": [{"name": "f", "input_schema": schema()}],
        "tool_choice": {"type": "any"},
    });
    let (status, reply) = cannot.post(&session, "messages", &body).await;
    assert_eq!((status, &reply["error"]["type"]), (StatusCode::BAD_REQUEST, &json!("invalid_request_error")));
    assert!(reply["error"]["message"].as_str().unwrap().contains("tool_choice.type"), "{reply}");
}
