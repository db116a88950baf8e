//! `verbatim-bench render`: conversations to ids, beside what others do it with.
//!
//! The promise measured: a prompt costs no more than the merging library's work on its text, and the
//! next turn's prompt costs what is new in it. Both ways must give the same ids, or nothing is
//! printed.

use std::sync::Arc;

use anyhow::{Context, ensure};
use serde_json::{Map, Value, json};
use tokenizers::pipeline::{EncodeOptions, Override, PipelineTokenizer};
use verbatim_chat::{Arguments, Message, Role, Setup, Tool, ToolCall};
use verbatim_families::{Family, Junction, Options, Scene, load, load_with};
use verbatim_tokenizer::{HfTokenizer, Piece, SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

use crate::args::Render;
use crate::assets;
use crate::stats::{percentile, times};
use crate::words::Words;

/// One conversation of so many turns: a system message, and each turn a user's message, a call, its
/// result and an answer.
fn conversation(words: &Words, turns: u64) -> (Setup, Vec<Message>) {
    let path = json!({"type": "string", "description": "A file's path, from the root of the project"});
    let parameters = json!({"type": "object", "properties": {"path": path}, "required": ["path"]});
    let declare = |name: &str| json!({"type": "function", "function": {"name": name, "description": "Reads or changes a file", "parameters": parameters}});
    let tools = ["read_file", "write_file", "list_files"].map(|name| Tool(declare(name))).to_vec();
    let text = |role, seed, count| Message::new(role, words.text(seed, count).trim());
    let mut messages = vec![text(Role::System, 0, 120)];
    for turn in 1..=turns {
        let arguments = Arguments::Text(format!("{{\"path\": \"src/part_{turn}/file.rs\"}}"));
        let call = ToolCall { id: Some(format!("call{turn:05}")), name: "read_file".into(), arguments };
        messages.push(text(Role::User, turn * 4, 64));
        messages.push(Message { tool_calls: vec![call], ..text(Role::Assistant, turn * 4 + 1, 32) });
        messages.push(Message {
            tool_call_id: Some(format!("call{turn:05}")),
            name: Some("read_file".into()),
            ..text(Role::Tool, turn * 4 + 2, 200)
        });
        messages.push(text(Role::Assistant, turn * 4 + 3, 64));
    }
    (Setup { tools, ..Setup::default() }, messages)
}

/// The vocabulary as the library alone has it, with its own recognition of added tokens.
fn library(json: &[u8]) -> anyhow::Result<PipelineTokenizer> {
    let mut root: Value = serde_json::from_slice(json)?;
    tokenizers::canonicalize_value(&mut root).map_err(|error| anyhow::anyhow!("{error}"))?;
    tokenizers::from_json(&root.to_string()).map_err(|error| anyhow::anyhow!("{error}"))
}

/// Times both ways on conversations of each length, and prints medians and ratios.
pub(crate) fn run(args: &Render) -> anyhow::Result<()> {
    let json = assets::read("tokenizer-qwen25", "tokenizer.json")?;
    let config: Value = serde_json::from_slice(&assets::read("tokenizer-qwen25", "tokenizer_config.json")?)?;
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(HfTokenizer::from_json(&json)?);
    let native = load("qwen25", Arc::clone(&tokenizer), None, &Map::new())?;
    let template = config["chat_template"].as_str().context("no chat template")?.to_owned();
    let eos = [("eos_token".to_owned(), json!("<|im_end|>"))].into_iter().collect();
    let options = Options {
        template: Some(template),
        special_tokens: eos,
        reasoning_parser: Some("none".to_owned()),
        tool_call_parser: Some("hermes".to_owned()),
        ..Options::default()
    };
    let templated = load_with("default", Arc::clone(&tokenizer), &options)?;
    let alone = library(&json)?;
    let words = Words::new(&*tokenizer)?;
    println!("Qwen2.5, median of {} runs, milliseconds; the ratio is theirs to ours\n", args.runs);
    println!("{:>7}{:>9}  {:<34}{:>9}{:>9}{:>8}", "turns", "tokens", "", "ours", "theirs", "ratio");
    for turns in &args.turns {
        let (setup, messages) = conversation(&words, u64::from(*turns));
        let scene = Scene { setup: &setup, opened: 0 };
        let whole = native.open(scene, &messages)?.ids;
        let row = |what: &str, ours: Vec<f64>, theirs: Vec<f64>| {
            let [ours, theirs] = [ours, theirs].map(|times| percentile(&times, 0.5));
            let ratio = theirs / ours.max(f64::EPSILON);
            println!("{turns:>7}{:>9}  {what:<34}{ours:>9.3}{theirs:>9.3}{ratio:>8.2}", whole.len());
        };
        encode(args, &tokenizer, &alone, &whole, row)?;
        render(args, [&*native, &*templated], scene, &messages, &whole, row)?;
    }
    Ok(())
}

/// The prompt's text to ids: cut at special tokens and encoded, against the library with the whole.
fn encode(
    args: &Render,
    tokenizer: &Arc<dyn Tokenizer>,
    alone: &PipelineTokenizer,
    whole: &[TokenId],
    row: impl Fn(&str, Vec<f64>, Vec<f64>),
) -> anyhow::Result<()> {
    let text = tokenizer.text(whole);
    let splitter = SpecialSplitter::new(&**tokenizer, |_| true);
    let ours = || {
        let mut ids = Vec::with_capacity(text.len() / 3);
        for piece in splitter.split(&text) {
            match piece {
                Piece::Text(text) => tokenizer.encode(text, &mut ids),
                Piece::Special(id) => ids.push(id),
            }
        }
        ids
    };
    let options = EncodeOptions {
        add_special_tokens: false,
        encode_special_tokens: false,
        padding: Override::Off,
        truncation: Override::Off,
    };
    let theirs = || {
        let mut ids = Vec::with_capacity(text.len() / 3);
        let encoded = alone.encode_into(&text, &options, &mut ids);
        encoded.map(|_| ids.iter().map(|token| TokenId(token.id())).collect::<Vec<_>>())
    };
    let told = theirs().map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(ours() == told && told == whole, "the library alone gives other ids");
    row("encode, tokenizers crate alone", times(args.runs, ours), times(args.runs, theirs));
    Ok(())
}

/// A conversation's prompt, and the prompt of the turn after it: the family against `default` with
/// the official template.
fn render(
    args: &Render,
    [native, templated]: [&dyn Family; 2],
    scene: Scene<'_>,
    messages: &[Message],
    whole: &[TokenId],
    row: impl Fn(&str, Vec<f64>, Vec<f64>),
) -> anyhow::Result<()> {
    ensure!(templated.open(scene, messages)?.ids == whole, "the official template gives other ids");
    let open = |family: &dyn Family| times(args.runs, || family.open(scene, messages));
    row("render and encode, minijinja", open(native), open(templated));
    let (Some(message), new) = (messages.last(), [Message::new(Role::User, "And the next one?")]) else {
        return Ok(());
    };
    let junction = Junction { sampled: &native.stop_ids()[..1], message };
    let [ours, theirs] = [native, templated].map(|family| family.extend(scene, junction, &new));
    ensure!(ours?.ids == theirs?.ids, "the next turn has other ids");
    let mut longer = messages.to_vec();
    longer.extend(new.clone());
    let extend = times(args.runs, || native.extend(scene, junction, &new));
    row("next turn, minijinja renders anew", extend, times(args.runs, || templated.open(scene, &longer)));
    let extend = |family: &dyn Family| times(args.runs, || family.extend(scene, junction, &new));
    row("next turn, default's own suffix", extend(native), extend(templated));
    Ok(())
}
