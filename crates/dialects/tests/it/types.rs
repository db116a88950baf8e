//! Streams and replies as they stand on the wire, for the official SDKs' types to be held against
//! (`python/tests/test_wire_types.py` reads these snapshots).

use insta::assert_snapshot;
use serde::Serialize;
use serde_json::json;
use verbatim_chat::{Arguments, Message, Role, ToolCall};
use verbatim_dialects::{Counts, Frame, anthropic, responses};
use verbatim_events::Finish;

const DIGITS: &str = "0123456789abcdef0123456789abcdef";
const COUNTS: Counts = Counts { prompt: 10, sampled: 5, cached: 4, reasoning: 2 };

fn message() -> Message {
    let mut message = Message::new(Role::Assistant, "I look.");
    message.reasoning = Some("Look first.".into());
    message.tool_calls = ["ls", "pwd"]
        .iter()
        .enumerate()
        .map(|(at, cmd)| ToolCall {
            id: Some(format!("call_{at}")),
            name: "sh".into(),
            arguments: Arguments::Text(format!("{{\"cmd\": {cmd:?}}}")),
        })
        .collect();
    message
}

fn lines(frames: &[Frame]) -> String {
    frames.iter().map(|frame| format!("{}\n", frame.data)).collect()
}

fn line(value: &impl Serialize) -> String {
    format!("{}\n", serde_json::to_string(value).unwrap())
}

fn request(summary: bool) -> String {
    let tool = json!({"type": "function", "name": "sh", "description": "d", "strict": false, "parameters": {"type": "object"}});
    let reasoning = if summary { json!({"effort": "high", "summary": "auto"}) } else { json!(null) };
    let body = json!({"model": "policy", "input": "q", "instructions": "s", "tools": [tool], "reasoning": reasoning,
                      "metadata": {"a": "b"}, "include": ["reasoning.encrypted_content"]});
    body.to_string()
}

fn response_stream(summary: bool, finish: Finish) -> Vec<Frame> {
    let body = request(summary);
    let echo = responses::Request::parse(body.as_bytes(), "m").unwrap().echo;
    let mut stream = responses::Stream::new(format!("resp_{DIGITS}"), 1_700_000_000, echo);
    let mut out = stream.opened();
    out.push(stream.alive());
    let said = message();
    stream.reasoning("Look ", &mut out);
    stream.reasoning("first.", &mut out);
    stream.content("I look.", &mut out);
    for (index, call) in said.tool_calls.iter().enumerate() {
        stream.call(index, call.id.as_deref().unwrap(), &call.name, &mut out);
        stream.arguments(&call.arguments.text(), &mut out);
        stream.call_ended(&mut out);
    }
    out.extend(stream.finished(finish, COUNTS));
    out
}

#[test]
fn a_response_as_a_stream() {
    assert_snapshot!("responses_stream", lines(&response_stream(false, Finish::Stop)));
}

#[test]
fn a_response_as_a_stream_with_a_summary_that_was_cut() {
    assert_snapshot!("responses_stream_summary", lines(&response_stream(true, Finish::Length)));
}

#[test]
fn a_response_that_failed() {
    let mut stream =
        responses::Stream::new(format!("resp_{DIGITS}"), 1_700_000_000, responses::Echo::new("m".into()));
    let mut out = stream.opened();
    stream.content("I", &mut out);
    out.push(
        stream
            .failed(&responses::Failure { code: "server_error".into(), message: "the engine failed".into() }),
    );
    assert_snapshot!("responses_stream_failed", lines(&out));
}

#[test]
fn a_whole_response() {
    let body = request(true);
    let echo = responses::Request::parse(body.as_bytes(), "m").unwrap().echo;
    let id = format!("resp_{DIGITS}");
    let reply = responses::Response::new(&id, 1_700_000_000, &echo, &message(), Finish::Stop, COUNTS);
    assert_snapshot!("responses_whole", line(&reply));
}

#[test]
fn a_message_as_a_stream() {
    let mut stream = anthropic::Stream::new(format!("msg_{DIGITS}"), "policy".into(), true);
    let mut out = vec![stream.opened(10), stream.alive()];
    stream.reasoning("Look first.", &mut out);
    stream.content("I look.", &mut out);
    for call in &message().tool_calls {
        stream.call(call.id.as_deref().unwrap(), &call.name, &mut out);
        stream.arguments(&call.arguments.text(), &mut out);
        stream.call_ended(&mut out);
    }
    out.extend(stream.finished(Finish::Stop, None, COUNTS));
    assert_snapshot!("anthropic_stream", lines(&out));
}

#[test]
fn a_whole_message() {
    let id = format!("msg_{DIGITS}");
    let said = message();
    let reply = anthropic::Reply::new(&id, "policy", &said, true, Finish::Stop, Some("END"), COUNTS);
    assert_snapshot!("anthropic_whole", line(&reply));
}
