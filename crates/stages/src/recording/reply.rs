//! Replies of three dialects, whole or streamed, as messages.
//!
//! The invariant: a reply that did not come to its end, or is none of the dialect's, is none.

use serde_json::Value;
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};

use super::Dialect;

/// A reply that came whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// What was said.
    pub message: Message,
    /// Why it ended, in the dialect's word.
    pub finish: Option<String>,
    /// Ids of its items, each with the kind it names (`rs`, `msg`, `fc`): Responses only.
    pub items: Vec<String>,
}

impl Reply {
    /// A reply that says `message`.
    pub fn new(message: Message) -> Self {
        Self { id: None, message, finish: None, items: Vec::new() }
    }
}

/// Reads a reply's body, JSON or a stream of events.
pub fn reply(dialect: Dialect, body: &str) -> Option<Reply> {
    let whole = serde_json::from_str::<Value>(body).ok();
    match (dialect, whole) {
        (Dialect::Chat, Some(value)) => chat(&value),
        (Dialect::Chat, None) => chat_stream(&events(body)),
        (Dialect::Responses, Some(value)) => responses(&value),
        (Dialect::Responses, None) => {
            let ended = |event: &&Value| {
                matches!(event["type"].as_str(), Some("response.completed" | "response.incomplete"))
            };
            responses(&events(body).iter().rev().find(ended)?["response"])
        }
        (Dialect::Messages, Some(value)) => messages(&value),
        (Dialect::Messages, None) => messages_stream(&events(body)),
    }
}

/// The `data` of each event.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn assistant(content: Option<String>, reasoning: Option<String>, tool_calls: Vec<ToolCall>) -> Message {
    Message {
        content: content.map_or(Content::Absent, Content::Text),
        reasoning: reasoning.filter(|text| !text.is_empty()),
        tool_calls,
        ..Message::new(Role::Assistant, "")
    }
}

fn chat(value: &Value) -> Option<Reply> {
    let choice = value["choices"].get(0)?;
    let message = choice["message"].as_object()?;
    let named = |name: &str| message.get(name).and_then(text);
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.map(|call| ToolCall {
        id: text(&call["id"]),
        name: text(&call["function"]["name"]).unwrap_or_default(),
        arguments: Arguments::Text(text(&call["function"]["arguments"]).unwrap_or_default()),
    });
    let message = assistant(
        named("content"),
        named("reasoning_content").or_else(|| named("reasoning")),
        calls.collect(),
    );
    Some(Reply {
        id: text(&value["id"]),
        finish: Some(text(&choice["finish_reason"])?),
        ..Reply::new(message)
    })
}

fn chat_stream(events: &[Value]) -> Option<Reply> {
    let (mut content, mut reasoning, mut finish, mut id) = (None::<String>, None::<String>, None, None);
    let mut calls: Vec<(Value, ToolCall)> = Vec::new();
    for event in events {
        id = id.or_else(|| text(&event["id"]));
        let Some(choice) = event["choices"].get(0) else { continue };
        finish = text(&choice["finish_reason"]).or(finish);
        let delta = &choice["delta"];
        if let Some(more) = delta["content"].as_str() {
            content.get_or_insert_default().push_str(more);
        }
        if let Some(more) = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str()) {
            reasoning.get_or_insert_default().push_str(more);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let more = call["function"]["arguments"].as_str().unwrap_or_default();
            match calls.iter_mut().find(|(index, _)| *index == call["index"]) {
                Some((_, known)) => {
                    known.arguments = Arguments::Text(format!("{}{more}", known.arguments.text()));
                }
                None => calls.push((
                    call["index"].clone(),
                    ToolCall {
                        id: text(&call["id"]),
                        name: text(&call["function"]["name"]).unwrap_or_default(),
                        arguments: Arguments::Text(more.to_owned()),
                    },
                )),
            }
        }
    }
    // A stream without its end is a reply that nobody had.
    let finish = Some(finish?);
    let calls: Vec<_> = calls.into_iter().map(|(_, call)| call).collect();
    let content = content.filter(|text| !text.is_empty() || calls.is_empty());
    Some(Reply { id, finish, ..Reply::new(assistant(content, reasoning, calls)) })
}

fn responses(value: &Value) -> Option<Reply> {
    let status = value["status"].as_str()?;
    if !["completed", "incomplete"].contains(&status) {
        return None;
    }
    let (mut content, mut reasoning, mut calls, mut items) =
        (None::<String>, None::<String>, Vec::new(), Vec::new());
    let joined = |parts: &Value| -> String {
        parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
    };
    for item in value["output"].as_array()? {
        items.extend(text(&item["id"]));
        match item["type"].as_str() {
            Some("message") => content.get_or_insert_default().push_str(&joined(&item["content"])),
            Some("reasoning") => {
                let told = [&item["content"], &item["summary"]].map(joined);
                let told = told.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
                reasoning.get_or_insert_default().push_str(&told);
            }
            Some("function_call") => calls.push(ToolCall {
                id: text(&item["call_id"]),
                name: text(&item["name"]).unwrap_or_default(),
                arguments: Arguments::Text(text(&item["arguments"]).unwrap_or_default()),
            }),
            _ => {}
        }
    }
    let message = assistant(content, reasoning, calls);
    Some(Reply { id: text(&value["id"]), finish: Some(status.to_owned()), items, message })
}

fn messages(value: &Value) -> Option<Reply> {
    let finish = Some(text(&value["stop_reason"])?);
    let (mut content, mut reasoning, mut calls) = (None::<String>, None::<String>, Vec::new());
    for block in value["content"].as_array()? {
        match block["type"].as_str() {
            Some("text") => content.get_or_insert_default().push_str(block["text"].as_str()?),
            Some("thinking") => reasoning.get_or_insert_default().push_str(block["thinking"].as_str()?),
            Some("tool_use") => calls.push(ToolCall {
                id: text(&block["id"]),
                name: text(&block["name"]).unwrap_or_default(),
                arguments: Arguments::Json(block["input"].clone()),
            }),
            _ => {}
        }
    }
    Some(Reply { id: text(&value["id"]), finish, ..Reply::new(assistant(content, reasoning, calls)) })
}

fn messages_stream(events: &[Value]) -> Option<Reply> {
    let mut whole = serde_json::json!({"content": []});
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        let at = usize::try_from(event["index"].as_u64().unwrap_or_default()).ok()?;
        match event["type"].as_str() {
            Some("message_start") => whole["id"] = event["message"]["id"].clone(),
            Some("content_block_start") => {
                whole["content"].as_array_mut()?.push(event["content_block"].clone());
                inputs.push(String::new());
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let block = whole["content"].get_mut(at)?;
                for name in ["text", "thinking"] {
                    if let Some(more) = delta[name].as_str() {
                        block[name] =
                            Value::from(format!("{}{more}", block[name].as_str().unwrap_or_default()));
                    }
                }
                inputs.get_mut(at)?.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            Some("content_block_stop") => {
                if let (Some(block), Some(input)) = (whole["content"].get_mut(at), inputs.get(at))
                    && !input.is_empty()
                {
                    block["input"] = serde_json::from_str(input).ok()?;
                }
            }
            Some("message_delta") => whole["stop_reason"] = event["delta"]["stop_reason"].clone(),
            _ => {}
        }
    }
    messages(&whole)
}
