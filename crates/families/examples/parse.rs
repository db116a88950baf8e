//! Says and reads turns of any family, a line of JSON each way: `tools/extended/parity.py` compares
//! what comes out with what other parsers say.
//!
//! Lines in: `{"op": "say", "family", "message", "tools"}` to have the text of a message, or
//! `{"op": "read", "family", "text", "tools", "start"}` to have a text parsed; `start` is `content` or
//! `reasoning`; without it, as the family begins a turn.
//! Lines out: `{"text", "start"}`, `{"reasoning", "content", "calls", "flaws"}`, or `{"error"}`.

use std::io::{BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use verbatim_chat::{Message, Role, Setup, StartState, Tool};
use verbatim_families::{NAMES, Scene};

#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "the tests' own vocabularies, of which this needs a part"
)]
#[path = "../tests/it/assets.rs"]
mod assets;
#[allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "as above")]
#[path = "../tests/it/gguf.rs"]
mod gguf;

#[derive(Deserialize)]
struct Asked {
    op: String,
    family: String,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    start: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let told = match answer(&line?) {
            Ok(told) => told,
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(out, "{told}")?;
    }
    Ok(out.flush()?)
}

fn answer(line: &str) -> Result<Value, Box<dyn std::error::Error>> {
    let asked: Asked = serde_json::from_str(line)?;
    let name = NAMES.iter().find(|name| **name == asked.family).ok_or("no such family")?;
    let model = assets::family(name);
    let setup = Setup { tools: asked.tools, ..Setup::default() };
    let scene = Scene { setup: &setup, opened: 0 };
    let usual = model.family.open(scene, &[Message::new(Role::User, "hi")])?.start;
    match asked.op.as_str() {
        "say" => {
            let message = asked.message.ok_or("no message")?;
            let mut ids = model.family.reply(scene, usual, &message)?;
            // The stop token is the engine's to see, not the parser's; but harmony's says that a call is whole.
            let call = model.tokenizer.special("<|call|>");
            if call.is_none() || ids.last().copied() != call {
                ids.pop();
            }
            Ok(json!({"text": model.spell(&ids), "start": word(usual)}))
        }
        "read" => {
            let start = match asked.start.as_deref() {
                Some("reasoning") => StartState::Reasoning,
                Some("content") => StartState::Content,
                _ => usual,
            };
            let mut parser = model.family.parser(scene, start, "call_");
            parser.push(&model.ids(&asked.text), &mut Vec::new());
            let parsed = parser.finish(&mut Vec::new());
            let flaws: Vec<String> = parsed.flaws.iter().map(|flaw| format!("{flaw:?}")).collect();
            let calls = parsed.message.tool_calls.iter();
            let calls: Vec<Value> = calls
                .map(|call| json!({"name": call.name, "arguments": call.arguments.text(), "id": call.id}))
                .collect();
            let (reasoning, content) = (&parsed.message.reasoning, parsed.message.content.text());
            Ok(json!({"reasoning": reasoning, "content": content, "calls": calls, "flaws": flaws}))
        }
        other => Err(format!("unknown op {other:?}").into()),
    }
}

fn word(start: StartState) -> &'static str {
    match start {
        StartState::Content => "content",
        StartState::Reasoning => "reasoning",
    }
}
