//! `verbatim-bench dialects`: what splitting and hashing a request costs in each dialect.
//!
//! The promise measured: one conversation, told in three dialects, is split and hashed in time that is its length's,
//! and none is much dearer than another.

use serde_json::{Value, json};
use verbatim_dialects::{Wire, anthropic, chat, responses};

use crate::args::Dialects;
use crate::stats::{percentile, times};

/// Prints the table.
pub(crate) fn run(args: &Dialects) -> anyhow::Result<()> {
    println!("split and hash, milliseconds (p50, p99) of {} runs\n", args.runs);
    println!("| turns | dialect | messages | MiB | p50 | p99 | MiB/s |\n|---|---|---|---|---|---|---|");
    for turns in &args.turns {
        let told = Told::of(*turns, args.words);
        row(args.runs, *turns, "chat", &told.chat, |body| Ok(chat::Request::parse(body)?.len()))?;
        row(args.runs, *turns, "responses", &told.responses, |body| {
            Ok(responses::Request::parse(body, "policy")?.len())
        })?;
        row(
            args.runs,
            *turns,
            "messages",
            &told.messages,
            |body| Ok(anthropic::Request::parse(body)?.len()),
        )?;
        row(args.runs, *turns, "messages, marked", &told.marked, |body| {
            Ok(anthropic::Request::parse(body)?.len())
        })?;
    }
    Ok(())
}

fn row(
    runs: u32,
    turns: u32,
    name: &str,
    body: &[u8],
    split: impl Fn(&[u8]) -> anyhow::Result<usize>,
) -> anyhow::Result<()> {
    let messages = split(body)?;
    let times = times(runs, || split(body));
    let (p50, p99, mib) =
        (percentile(&times, 0.5), percentile(&times, 0.99), body.len() as f64 / f64::from(1 << 20));
    println!("| {turns} | {name} | {messages} | {mib:.2} | {p50:.3} | {p99:.3} | {:.0} |", mib / p50 * 1e3);
    Ok(())
}

/// One conversation of thoughts, calls and results as bodies.
struct Told {
    chat: Vec<u8>,
    responses: Vec<u8>,
    messages: Vec<u8>,
    /// With a cache mark on every result, as far as that may be.
    marked: Vec<u8>,
}

impl Told {
    fn of(turns: u32, words: u32) -> Self {
        let text = "word \"said\" \u{e9}\n".repeat(words as usize / 3);
        let user = json!({"role": "user", "content": text});
        let (mut chat, mut items, mut blocks, mut marked) =
            (vec![user.clone()], vec![user.clone()], vec![user.clone()], vec![user]);
        for at in 0..turns {
            let id = format!("call_{at:024}");
            let arguments = json!({"command": text}).to_string();
            let function = json!({"name": "bash", "arguments": arguments});
            let call = json!({"id": id, "type": "function", "function": function});
            chat.push(json!({"role": "assistant", "content": "I look.", "reasoning_content": text, "tool_calls": [call]}));
            chat.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
            items.push(json!({"type": "reasoning", "id": format!("rs_{at:032}"), "summary": [],
                              "content": [{"type": "reasoning_text", "text": text}]}));
            let said = json!([{"type": "output_text", "text": "I look.", "annotations": []}]);
            items.push(json!({"type": "message", "role": "assistant", "content": said}));
            items.push(
                json!({"type": "function_call", "call_id": id, "name": "bash", "arguments": arguments}),
            );
            items.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
            let assistant = json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": text, "signature": "vb1"}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": id, "name": "bash", "input": {"command": text}}]});
            let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": text});
            blocks.extend([assistant.clone(), json!({"role": "user", "content": [result]})]);
            result["cache_control"] = json!({"type": "ephemeral"});
            marked.extend([assistant, json!({"role": "user", "content": [result]})]);
        }
        let body =
            |name: &str, list: Vec<Value>| json!({"model": "policy", name: list}).to_string().into_bytes();
        Self {
            chat: body("messages", chat),
            responses: body("input", items),
            messages: body("messages", blocks),
            marked: body("messages", marked),
        }
    }
}
