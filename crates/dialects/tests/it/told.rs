//! A reply comes back as it was said: whole or streamed in any pieces, and however an agent replays it.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_dialects::{Counts, Forgetful, Frame, Recall, Wire, anthropic, responses};
use verbatim_events::Finish;

const DIGITS: &str = "0123456789abcdef0123456789abcdef";
const COUNTS: Counts = Counts { prompt: 10, sampled: 5, cached: 4, reasoning: 2 };

/// Remembers one reply.
struct Knows(Arc<Message>);

impl Recall for Knows {
    fn reply(&self, digits: &str) -> Option<Arc<Message>> {
        (digits == DIGITS).then(|| Arc::clone(&self.0))
    }
}

fn message() -> impl Strategy<Value = Message> {
    let text = "[a-zé\n\"]{1,12}";
    let call = ("[a-z]{1,3}", "[a-z]{0,6}", 0..100u8);
    let calls = prop::collection::vec(call, 0..3);
    (prop::option::of(text), prop::option::of(text), calls).prop_map(|(reasoning, content, calls)| {
        let mut message = Message::new(Role::Assistant, "");
        message.reasoning = reasoning;
        message.tool_calls = calls
            .into_iter()
            .enumerate()
            .map(|(index, (name, text, number))| ToolCall {
                id: Some(format!("call_{index}")),
                name,
                arguments: Arguments::Text(format!("{{\"{text}\": {number}}}")),
            })
            .collect();
        message.content = content.map_or(Content::Absent, Content::Text);
        message
    })
}

/// A text in pieces.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|chunk| chunk.iter().collect()).collect()
}

fn request(items: Value) -> Value {
    let mut input = vec![json!({"role": "user", "content": "q"})];
    input.extend(items.as_array().unwrap().iter().cloned());
    json!({"input": input})
}

/// The message that the items are, replayed.
fn replayed(items: Value, recall: &dyn Recall) -> Message {
    let body = request(items).to_string();
    let request = responses::Request::parse(body.as_bytes(), "m").unwrap();
    assert_eq!(request.len(), 2, "{body}");
    request.message(1, recall, &mut Vec::new()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn echo(summary: bool) -> responses::Echo {
    let mut body = json!({"input": "q", "include": ["reasoning.encrypted_content"]});
    if summary {
        body["reasoning"] = json!({"summary": "auto"});
    }
    responses::Request::parse(body.to_string().as_bytes(), "m").unwrap().echo
}

fn data(frame: &Frame) -> Value {
    let value: Value = serde_json::from_str(&frame.data).unwrap();
    assert_eq!(value["type"], frame.event.unwrap());
    value
}

/// Streams a message as Responses; gives the events.
fn streamed_items(message: &Message, size: usize, summary: bool) -> Vec<Value> {
    let mut stream = responses::Stream::new(format!("resp_{DIGITS}"), 1, echo(summary));
    let mut out = stream.opened();
    for text in pieces(message.reasoning.as_deref().unwrap_or_default(), size) {
        stream.reasoning(&text, &mut out);
    }
    for text in pieces(&message.content.text(), size) {
        stream.content(&text, &mut out);
    }
    for (index, call) in message.tool_calls.iter().enumerate() {
        stream.call(index, call.id.as_deref().unwrap(), &call.name, &mut out);
        for text in pieces(&call.arguments.text(), size) {
            stream.arguments(&text, &mut out);
        }
        stream.call_ended(&mut out);
    }
    out.extend(stream.finished(Finish::Stop, COUNTS));
    out.iter().map(data).collect()
}

/// Adds the events up as a client does; gives the items.
fn accumulated(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        let at = event["output_index"].as_u64().unwrap_or_default() as usize;
        let add = |to: &mut Value, what: &Value| {
            *to = json!(format!("{}{}", to.as_str().unwrap_or_default(), what.as_str().unwrap()));
        };
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!(at, items.len());
                items.push(event["item"].clone());
            }
            "response.content_part.added" => {
                items[at]["content"] = json!([event["part"]]);
            }
            "response.reasoning_summary_part.added" => {
                items[at]["summary"] = json!([event["part"]]);
            }
            "response.output_text.delta" | "response.reasoning_text.delta" => {
                add(&mut items[at]["content"][0]["text"], &event["delta"]);
            }
            "response.reasoning_summary_text.delta" => {
                add(&mut items[at]["summary"][0]["text"], &event["delta"])
            }
            "response.function_call_arguments.delta" => add(&mut items[at]["arguments"], &event["delta"]),
            "response.output_item.done" => {
                let (told, done) = (&items[at], &event["item"]);
                for key in ["id", "type", "call_id", "name", "arguments"] {
                    assert_eq!(told[key], done[key]);
                }
                let said = |item: &Value, list: &str| item[list][0]["text"].clone();
                if said(told, "content") != Value::Null {
                    assert_eq!(said(told, "content"), said(done, "content"));
                }
                if said(told, "summary") != Value::Null {
                    assert_eq!(said(told, "summary"), said(done, "summary"));
                }
                items[at] = done.clone();
            }
            _ => {}
        }
    }
    items
}

/// Streams a message as Anthropic; gives the blocks as a client adds them up.
fn streamed_blocks(message: &Message, size: usize, shows: bool) -> Vec<Value> {
    let mut stream = anthropic::Stream::new(format!("msg_{DIGITS}"), "m".into(), shows);
    let mut out = vec![stream.opened(10)];
    for text in pieces(message.reasoning.as_deref().unwrap_or_default(), size) {
        stream.reasoning(&text, &mut out);
    }
    for text in pieces(&message.content.text(), size) {
        stream.content(&text, &mut out);
    }
    for call in &message.tool_calls {
        stream.call(call.id.as_deref().unwrap(), &call.name, &mut out);
        for text in pieces(&call.arguments.text(), size) {
            stream.arguments(&text, &mut out);
        }
        stream.call_ended(&mut out);
    }
    out.extend(stream.finished(Finish::Stop, None, COUNTS));
    let (mut blocks, mut input): (Vec<Value>, String) = (Vec::new(), String::new());
    for event in out.iter().map(data) {
        let at = event["index"].as_u64().unwrap_or_default() as usize;
        let delta = &event["delta"];
        let mut add = |key: &str| {
            let said = format!("{}{}", blocks[at][key].as_str().unwrap(), delta[key].as_str().unwrap());
            blocks[at][key] = json!(said);
        };
        match (event["type"].as_str().unwrap(), delta["type"].as_str()) {
            ("content_block_start", _) => {
                assert_eq!(at, blocks.len());
                blocks.push(event["content_block"].clone());
            }
            (_, Some("thinking_delta")) => add("thinking"),
            (_, Some("signature_delta")) => add("signature"),
            (_, Some("text_delta")) => add("text"),
            (_, Some("input_json_delta")) => input.push_str(delta["partial_json"].as_str().unwrap()),
            ("content_block_stop", _) if blocks[at]["type"] == "tool_use" => {
                blocks[at]["input"] = serde_json::from_str(&std::mem::take(&mut input)).unwrap();
            }
            _ => {}
        }
    }
    blocks
}

fn answered(blocks: &[Value], recall: &dyn Recall) -> Message {
    let body =
        json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": blocks}]});
    let body = body.to_string();
    let request = anthropic::Request::parse(body.as_bytes()).unwrap();
    request.message(1, recall, &mut Vec::new()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn parsed(message: &Message) -> Message {
    let mut message = message.clone();
    for call in &mut message.tool_calls {
        call.arguments = Arguments::Json(call.arguments.parsed().unwrap().into_owned());
    }
    message
}

/// What is equal under every matcher.
fn heard(message: Message) -> Message {
    match message.content {
        Content::Absent => Message { content: Content::from(""), ..message },
        _ => message,
    }
}

proptest! {
    /// However a reply is streamed, it adds up to the same items, which are the whole reply's and come back as
    /// the message that was said.
    #[test]
    fn any_split_of_a_response_is_one_message(message in message(), size in 1usize..6, summary in any::<bool>()) {
        let id = format!("resp_{DIGITS}");
        let echo = echo(summary);
        let whole = responses::Response::new(&id, 1, &echo, &message, Finish::Stop, COUNTS);
        let whole = serde_json::to_value(whole).unwrap();
        let events = streamed_items(&message, size, summary);
        let items = accumulated(&events);
        prop_assert_eq!(&json!(items), &whole["output"]);
        prop_assert_eq!(&events.last().unwrap()["response"], &whole);
        prop_assert_eq!(heard(replayed(json!(items), &Forgetful)), heard(message));
    }

    /// However an agent names or thins the items, they are the message that was said.
    #[test]
    fn items_come_back_by_name_and_by_seal(message in message(), thin in any::<u32>()) {
        let known = Knows(Arc::new(message.clone()));
        let items = accumulated(&streamed_items(&message, 100, true));
        let replay: Vec<Value> = items
            .into_iter()
            .enumerate()
            .map(|(at, mut item)| match (thin >> (2 * at)) & 3 {
                0 => json!({"type": "item_reference", "id": item["id"]}),
                1 if item["type"] == "reasoning" => {
                    let object = item.as_object_mut().unwrap();
                    object.insert("summary".into(), json!([]));
                    object.insert("content".into(), Value::Null);
                    item
                }
                2 if item["type"] == "reasoning" => {
                    let object = item.as_object_mut().unwrap();
                    object.insert("content".into(), Value::Null);
                    object.insert("encrypted_content".into(), Value::Null);
                    item
                }
                _ => item,
            })
            .collect();
        prop_assert_eq!(heard(replayed(json!(replay), &known)), heard(message));
    }

    /// However a message is streamed, its blocks are the whole reply's and come back as it was said, the spelling
    /// of arguments apart; thinking that was left out is recalled by its signature.
    #[test]
    fn any_split_of_a_message_is_one_message(message in message(), size in 1usize..6, shows in any::<bool>()) {
        let id = format!("msg_{DIGITS}");
        let whole = anthropic::Reply::new(&id, "m", &message, shows, Finish::Stop, None, COUNTS);
        let whole = serde_json::to_value(whole).unwrap();
        let blocks = streamed_blocks(&message, size, shows);
        prop_assert_eq!(&json!(blocks), &whole["content"]);
        let known = Knows(Arc::new(message.clone()));
        prop_assert_eq!(heard(answered(&blocks, &known)), heard(parsed(&message)));
        let ids: Vec<_> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
        let told: Vec<_> = blocks.iter().filter_map(|block| block["id"].as_str()).map(|id| Some(id.to_owned())).collect();
        prop_assert_eq!(ids, told);
    }
}

#[test]
fn no_two_items_share_an_id() {
    let mut stream = responses::Stream::new(format!("resp_{DIGITS}"), 1, echo(false));
    let mut out = stream.opened();
    for at in 0..2 {
        stream.reasoning("hm", &mut out);
        stream.content("a", &mut out);
        stream.call(at, &format!("call_{at}"), "f", &mut out);
        stream.call_ended(&mut out);
    }
    out.extend(stream.finished(Finish::Length, COUNTS));
    let events: Vec<_> = out.iter().map(data).collect();
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let items = last["response"]["output"].as_array().unwrap();
    let mut ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    assert_eq!(items[5]["status"], "incomplete");
    // Told in pieces, recalled whole by the first of each.
    let mut message = Message::new(Role::Assistant, "aa");
    message.reasoning = Some("hmhm".into());
    let names: Vec<_> =
        items.iter().take(5).map(|item| json!({"type": "item_reference", "id": item["id"]})).collect();
    message.tool_calls = vec![ToolCall {
        id: Some("call_0".into()),
        name: "f".into(),
        arguments: Arguments::Text("{}".into()),
    }];
    assert_eq!(replayed(json!(names), &Knows(Arc::new(message.clone()))), message);
}

#[test]
fn arguments_that_are_no_object_survive_a_dialect_of_objects() {
    let mut message = Message::new(Role::Assistant, "");
    let call = |text: &str| ToolCall {
        id: Some("c".into()),
        name: "f".into(),
        arguments: Arguments::Text(text.into()),
    };
    for text in ["[1]", "broken", "\"x\""] {
        message.tool_calls = vec![call(text)];
        let reply = anthropic::Reply::new("msg_1", "m", &message, true, Finish::Stop, None, COUNTS);
        let reply = serde_json::to_value(reply).unwrap();
        assert!(reply["content"][0]["input"].is_object());
        let blocks = reply["content"].as_array().unwrap();
        assert_eq!(answered(blocks, &Forgetful).tool_calls, message.tool_calls);
    }
}

#[test]
fn reasoning_under_a_foreign_seal_is_taken_and_under_a_wrong_one_refused() {
    let mut message = Message::new(Role::Assistant, "a");
    message.reasoning = Some("hm".into());
    let blocks = streamed_blocks(&message, 9, true);
    let signature = blocks[0]["signature"].as_str().unwrap();
    let refused = |blocks: Value| {
        let body = json!({"messages": [{"role": "assistant", "content": blocks}]}).to_string();
        let request = anthropic::Request::parse(body.as_bytes()).unwrap();
        let mut lost = Vec::new();
        request.message(0, &Forgetful, &mut lost).map(|message| (message, lost))
    };
    let changed = json!([{"type": "thinking", "thinking": "hm, no", "signature": signature}]);
    let error = refused(changed).unwrap_err();
    assert_eq!(error.field, "messages[0].content[0].signature");
    let foreign = json!([{"type": "thinking", "thinking": "hm", "signature": "SIG=="}]);
    assert_eq!(refused(foreign).unwrap().0.reasoning.as_deref(), Some("hm"));
    for block in [
        json!({"type": "redacted_thinking", "data": "ENC"}),
        json!({"type": "thinking", "thinking": "", "signature": signature}),
    ] {
        let (read, lost) = refused(json!([block])).unwrap();
        assert_eq!((read.reasoning, lost.len()), (None, 1), "{block}");
    }

    let items = accumulated(&streamed_items(&message, 9, false));
    let mut item: Map<String, Value> = items[0].as_object().unwrap().clone();
    item.insert("content".into(), json!([{"type": "reasoning_text", "text": "hm, no"}]));
    let body = request(json!([item])).to_string();
    let error =
        responses::Request::parse(body.as_bytes(), "m").unwrap().message(1, &Forgetful, &mut Vec::new());
    assert_eq!(error.unwrap_err().field, "input[1].encrypted_content");
}
