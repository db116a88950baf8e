//! A session's records, as `GET /sessions/{session}` shows them.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use verbatim_chat::{Message, Setup};
use verbatim_dialects::Counts;
use verbatim_dialects::chat::{Completion, Usage, spell};
use verbatim_forest::{Forest, Generation, Segment};
use verbatim_tokens::TokenId;

use super::MetaInfo;

/// One record a turn of the line that ends with the last committed one: the request as an engine's chat
/// endpoint would have had it, with the ids that were put before the model, and the reply with the ids and
/// logprobs that it sampled. `replay` shows routed experts, too. The cost grows with turns × tokens.
pub(crate) fn dump(forest: &Forest, model: &str, replay: bool) -> Vec<Value> {
    let path = forest.head().map(|head| forest.path(head)).unwrap_or_default();
    let (mut ids, mut messages) = (Vec::new(), Vec::new());
    let mut records = Vec::new();
    for (at, segment) in path.iter().enumerate() {
        if let Some(generation) = segment.node.generation() {
            let setup = forest.setup(segment.id).unwrap_or_default();
            let known = at.checked_sub(2).and_then(|turn| path[turn].node.generation());
            let request = request(model, &setup, &messages, &ids, generation, known);
            records.push(record(model, request, &ids, generation, replay));
        }
        ids.extend_from_slice(read(segment));
        if let Some(next) = path.get(at + 1) {
            ids.truncate(ids.len() - next.node.trim());
        }
        messages.extend(segment.node.messages().iter().cloned());
    }
    records
}

fn read<'a>(segment: &Segment<'a>) -> &'a [TokenId] {
    segment.node.ids()
}

fn request(
    model: &str,
    setup: &Setup,
    messages: &[Arc<Message>],
    ids: &[TokenId],
    generation: &Generation,
    known: Option<&Generation>,
) -> Value {
    let mut request = Map::new();
    request.insert("model".into(), json!(model));
    request.insert("messages".into(), messages.iter().map(|message| spell(message)).collect());
    if !setup.tools.is_empty() {
        request.insert("tools".into(), json!(setup.tools));
    }
    if !setup.template.is_empty() {
        request.insert("chat_template_kwargs".into(), json!(setup.template));
    }
    request.insert("temperature".into(), json!(generation.temperature));
    for (flag, value) in [("logprobs", true), ("return_meta_info", true), ("no_stop_trim", false)] {
        request.insert(flag.into(), json!(value));
    }
    if let Some(experts) = &generation.experts {
        request.insert("return_routed_experts".into(), json!(true));
        let from =
            known.and_then(|known| known.experts.as_ref()).map_or(experts.start(), |known| known.end());
        request.insert("routed_experts_start_len".into(), json!(from));
    }
    request.insert("input_ids".into(), json!(TokenId::raw(ids)));
    Value::Object(request)
}

fn record(model: &str, request: Value, ids: &[TokenId], generation: &Generation, replay: bool) -> Value {
    let usage = Usage::new(Counts {
        prompt: ids.len(),
        sampled: generation.sampled.len(),
        cached: generation.cached_tokens.unwrap_or_default(),
        reasoning: generation.reasoning_tokens,
    });
    let created = generation.at / 1000;
    let reply = Completion::new(
        &generation.response,
        created,
        model,
        &generation.message,
        generation.finish,
        usage,
        None,
    );
    let mut response = json!(reply);
    let experts = generation.experts.as_deref().filter(|_| replay);
    response["choices"][0]["meta_info"] = MetaInfo::of(generation).spell(ids.len(), experts);
    let timings = &generation.timings;
    let end = generation.at as f64 / 1000.0;
    json!({
        "timestamp": end,
        "request_timestamp": end - (timings.prepare + timings.held + timings.generate).as_secs_f64(),
        "method": "POST",
        "path": "/v1/chat/completions",
        "request": request,
        "response": response,
        "status_code": 200,
    })
}
