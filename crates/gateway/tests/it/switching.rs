//! What holds in every dialect: one line, and streams that are never silent.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Server, Setting, text, turn, user};

/// A turn in each dialect; gives what was said as `(reasoning, text, call id)`.
async fn ask(server: &Server, session: &str, dialect: usize, history: &[Turn]) -> (String, String, String) {
    let schema = json!({"type": "object", "properties": {"cmd": {"type": "string"}}});
    let function = json!({"name": "sh", "description": "Runs.", "parameters": schema});
    let mut messages = vec![user("go")];
    match dialect {
        0 => {
            messages.insert(0, json!({"role": "system", "content": "Be brief."}));
            for (reasoning, text, call) in history {
                let call_of = json!({"id": call, "type": "function", "function": {"name": "sh", "arguments": "{\"cmd\": \"ls\"}"}});
                messages.push(json!({"role": "assistant", "reasoning_content": reasoning, "content": text, "tool_calls": [call_of]}));
                messages.push(json!({"role": "tool", "tool_call_id": call, "content": "done"}));
            }
            let body = json!({"messages": messages, "tools": [{"type": "function", "function": function}]});
            let (status, reply) = server.turn(session, &body).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
            let said = &reply["choices"][0]["message"];
            taken(&said["reasoning_content"], &said["content"], &said["tool_calls"][0]["id"])
        }
        1 => {
            for (reasoning, text, call) in history {
                messages.push(json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": reasoning}]}));
                messages
                    .push(json!({"role": "assistant", "content": [{"type": "output_text", "text": text}]}));
                messages.push(json!({"type": "function_call", "call_id": call, "name": "sh", "arguments": "{\"cmd\": \"ls\"}"}));
                messages.push(json!({"type": "function_call_output", "call_id": call, "output": "done"}));
            }
            let mut tool = function.clone();
            tool["type"] = json!("function");
            let body = json!({"instructions": "Be brief.", "input": messages, "tools": [tool]});
            let (status, reply) = server.post(session, "responses", &body).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
            let output = &reply["output"];
            taken(&output[0]["content"][0]["text"], &output[1]["content"][0]["text"], &output[2]["call_id"])
        }
        _ => {
            for (reasoning, text, call) in history {
                messages.push(json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": reasoning, "signature": ""}, {"type": "text", "text": text},
                    {"type": "tool_use", "id": call, "name": "sh", "input": {"cmd": "ls"}}]}));
                messages.push(json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": call, "content": "done"}]}));
            }
            let tool = json!({"name": "sh", "description": "Runs.", "input_schema": schema});
            let body =
                json!({"system": "Be brief.", "max_tokens": 99, "messages": messages, "tools": [tool]});
            let (status, reply) = server.post(session, "messages", &body).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
            let content = &reply["content"];
            taken(&content[0]["thinking"], &content[1]["text"], &content[2]["id"])
        }
    }
}

type Turn = (String, String, String);

fn taken(reasoning: &Value, text: &Value, call: &Value) -> Turn {
    let text_of = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    (text_of(reasoning), text_of(text), text_of(call))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_of_dialects_is_one_line() {
    for order in [[0, 1, 2, 0], [2, 1, 0, 2], [1, 2, 0, 1]] {
        for lineage in ["tree", "linear"] {
            let line = turn("Look first.", "I look.", &[("sh", "{\"cmd\": \"ls\"}")]);
            let server = Server::saying([line]).await;
            let session = server.open(json!({"lineage": lineage})).await;
            let mut history = Vec::new();
            for dialect in order {
                history.push(ask(&server, &session, dialect, &history).await);
            }
            let tree = server.tree(&session).await;
            assert_eq!(
                (server.committed(&session), tree["leaves"].as_array().unwrap().len()),
                (4, 1),
                "{order:?} {lineage}"
            );
            let lost = ["forked", "rerooted", "rolled_back", "tools_drifted"].map(|name| server.lost(name));
            assert_eq!(lost, [0; 4], "{order:?} {lineage}");
            let attempts = server.attempts();
            for pair in attempts.windows(2) {
                let before = [&pair[0].prompt[..], &pair[0].said[..]].concat();
                assert!(pair[1].prompt.starts_with(&before), "{order:?} {lineage}");
            }
            let mut calls: Vec<_> = history.iter().map(|(_, _, call)| call).collect();
            calls.sort_unstable();
            calls.dedup();
            assert_eq!(calls.len(), 4, "every call has its own id");
        }
    }
}

/// A held turn's stream says so in the dialect's own way, often enough that no time-out on the way cuts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_stream_is_not_silent() {
    let usual = Setting::default();
    let limits = verbatim_gateway::Limits { silence: Duration::from_millis(40), ..usual.limits };
    let server = Server::with(Setting { limits, ..usual }, [text("fine")]).await;
    let messages = [user("hi")];
    let table = [
        ("chat/completions", json!({"messages": messages, "stream": true}), ": held", "[DONE]"),
        (
            "responses",
            json!({"input": "hi", "stream": true}),
            "event: response.in_progress",
            "response.completed",
        ),
        (
            "messages",
            json!({"messages": messages, "max_tokens": 9, "stream": true}),
            "event: ping",
            "message_stop",
        ),
    ];
    for (route, body, alive, end) in table {
        let session = server.open(json!({})).await;
        server.sessions.dispatcher().close_gate(verbatim_session::Running::Abort);
        let url = format!("{}/sessions/{session}/v1/{route}", server.url);
        let told = async { server.client.post(url).json(&body).send().await.unwrap().text().await.unwrap() };
        let open = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            server.sessions.dispatcher().open_gate();
        };
        let (told, ()) = tokio::join!(told, open);
        let count = told.matches(alive).count();
        assert!((3..12).contains(&count), "{route}: {count} signs of life");
        assert!(told.contains(end), "{route}: {told}");
    }
}
