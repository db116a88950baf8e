//! `verify parser` passes an engine that reads replies as the family does, and shows one that does
//! not.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use verbatim_engine::Prompt;
use verbatim_engine_http::{Options as Client, Parse, connect};
use verbatim_engine_mock::{Mock, Options, Wire};
use verbatim_engine_sim::{Line, SimEngine, SimOptions};
use verbatim_stages::verify::{Asking, Differs, ParserError, ParserReport, parser};
use verbatim_tokens::TokenId;

use crate::world::{ids, qwen3, tokenizer, turn};

/// What the mock says, in turn: a call, a thought and an answer, a call that is cut.
fn lines() -> Vec<Vec<TokenId>> {
    let family = qwen3();
    let cut = "<think>\nhm\n</think>\n\nSo:\n<tool_call>\n{\"name\": \"get_weather\", \"argu<|im_end|>";
    vec![turn(&*family, true), turn(&*family, false), ids(cut)]
}

/// A reading, as a chat endpoint gives it.
type Reading = fn(&str) -> Value;

/// What engines do with Qwen3's format: reasoning and content without the whitespace around them,
/// arguments spelt anew.
fn sound(text: &str) -> Value {
    let text = text.trim_end_matches("<|im_end|>");
    let (reasoning, rest) = match text.strip_prefix("<think>").and_then(|text| text.split_once("</think>")) {
        Some((reasoning, rest)) => (Some(reasoning.trim()), rest.trim()),
        None => (None, text),
    };
    let call = rest.strip_prefix("<tool_call>\n").and_then(|call| call.strip_suffix("\n</tool_call>"));
    let call: Option<Value> = call.and_then(|call| serde_json::from_str(call).ok());
    match call {
        Some(call) => {
            let function = json!({"name": call["name"], "arguments": call["arguments"].to_string()});
            let calls = [json!({"id": "call_x", "type": "function", "function": function})];
            json!({"role": "assistant", "content": null, "reasoning_content": reasoning, "tool_calls": calls})
        }
        None => json!({"role": "assistant", "content": rest, "reasoning_content": reasoning}),
    }
}

/// An engine that was started without a reasoning parser.
fn thoughtless(text: &str) -> Value {
    let message = sound(text);
    let (reasoning, content) = (message["reasoning_content"].as_str(), message["content"].as_str());
    let content = format!("<think>{}</think>{}", reasoning.unwrap_or_default(), content.unwrap_or_default());
    json!({"role": "assistant", "content": content, "tool_calls": message["tool_calls"]})
}

async fn verified(wire: Wire, reading: Reading) -> ParserReport {
    let said = lines();
    let script = move |prompt: &Prompt, _: &mut rand_chacha::ChaCha8Rng| {
        // Questions without a tool get an answer.
        let asks = prompt.ids.len() > 100;
        let which = if asks { prompt.ids.len() % 2 * 2 } else { 1 };
        Line { ids: said[which].clone(), fault: None }
    };
    let vocabulary = tokenizer().vocabulary();
    let sim = SimEngine::new(SimOptions { vocabulary, ..SimOptions::default() }, script);
    let parse = move |raw: &[u32]| reading(&tokenizer().text(TokenId::wrap(raw)));
    let stop = qwen3().stop_ids()[0].0;
    let options = Options { parse: Some(Arc::new(parse)), eos: vec![stop], ..Options::new(wire) };
    let mock = Mock::start(Arc::new(sim), options).await.unwrap();
    let client = Client { parse: Parse::Engine, vocabulary, ..Client::default() };
    let server = connect(&mock.url(), None, &client).await.unwrap();
    let asking = Asking { replies: 12, ..Asking::default() };
    parser(&*qwen3(), &*server.engine, &Map::new(), asking).await.unwrap()
}

#[tokio::test]
async fn an_engine_that_reads_as_the_family_does_holds_at_both_chat_endpoints() {
    for wire in [Wire::Sglang, Wire::Vllm] {
        let report = verified(wire, sound).await;
        assert!(report.holds, "{wire:?} {:#?}", report.disagreements);
        assert_eq!(report.replies, 12);
        let [reasoning, calls, flaws] = report.with;
        assert!(reasoning == 12 && calls + flaws == 6, "{:?}", report.with);
        // Respelt arguments are said, not failed.
        let spelt =
            report.disagreements.iter().filter(|found| found.differs.contains(&Differs::ArgumentBytes));
        assert_eq!(spelt.count(), calls);
    }
}

#[tokio::test]
async fn an_engine_that_reads_another_message_fails_and_both_are_shown() {
    let report = verified(Wire::Sglang, thoughtless).await;
    assert!(!report.holds);
    let found = &report.disagreements[0];
    assert!(found.differs.contains(&Differs::Reasoning), "{found:?}");
    assert!(found.text.contains("<think>") && found.theirs.reasoning.is_none(), "{found:?}");
}

#[tokio::test]
async fn an_engine_that_does_not_parse_is_refused_by_name() {
    let script = |_: &Prompt, _: &mut rand_chacha::ChaCha8Rng| Line::default();
    let sim = SimEngine::new(SimOptions::default(), script);
    let refused = parser(&*qwen3(), &sim, &Map::new(), Asking::default()).await;
    assert!(matches!(refused, Err(ParserError::DoesNotParse { .. })), "{refused:?}");
}
