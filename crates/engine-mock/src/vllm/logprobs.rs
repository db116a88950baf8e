//! Logprobs in vLLM's three forms: by id, as parallel lists of strings, as a chat's entries.

use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::run::Run;
use crate::tally::{Logprob, Token};

/// What stands for a logprob that is NaN, infinite or missing.
const NONE: f32 = -9999.0;

fn value(logprob: Logprob) -> Value {
    match logprob {
        Logprob::Value(value) => number(value),
        Logprob::Missing => number(NONE),
        Logprob::Null => Value::Null,
    }
}

fn number(value: f32) -> Value {
    f64::from(value).into()
}

/// The tokens from `from` on, unless logprobs are not to be sent; as wrong in number as they should be.
fn tokens(run: &Run, from: usize) -> Option<Vec<&Token>> {
    let tally = &run.tally;
    if !run.asked.logprobs || tally.plan.has(&Fault::NoLogprobs) {
        return None;
    }
    let mut tokens: Vec<&Token> = tally.tokens[from..].iter().collect();
    if tally.finish.is_some() {
        tally.plan.wrong_length(tokens.len()).spoil(&mut tokens);
    }
    Some(tokens)
}

/// Of `/inference/v1/generate`.
pub(super) fn by_id(run: &Run, from: usize) -> Value {
    let entry = |id: u32, logprob: Value, rank: Option<usize>| json!({ "token_id": id, "logprob": logprob, "rank": rank });
    let whole = |token: &&Token| {
        let rank = matches!(token.logprob, Logprob::Value(value) if value > NONE).then_some(1);
        let others = token.top.iter().enumerate().filter(|(_, (id, _))| *id != token.id);
        let mut top = vec![entry(token.id, value(token.logprob), rank)];
        top.extend(others.map(|(at, (id, logprob))| entry(*id, number(*logprob), Some(at + 1))));
        let mut whole = entry(token.id, value(token.logprob), rank);
        whole["top_logprobs"] = top.into();
        whole
    };
    tokens(run, from)
        .map_or(Value::Null, |tokens| json!({ "content": tokens.iter().map(whole).collect::<Value>() }))
}

/// How a token is named among strings.
fn named(run: &Run, id: u32, as_ids: bool) -> String {
    if as_ids { format!("token_id:{id}") } else { run.shared.text(&[id]).unwrap_or_default() }
}

/// Of `/v1/completions`.
pub(super) fn lists(run: &Run, from: usize, as_ids: bool) -> Value {
    let Some(tokens) = tokens(run, from) else { return Value::Null };
    let top = |token: &&Token| -> Value {
        let mut top = Map::new();
        top.insert(named(run, token.id, as_ids), value(token.logprob));
        for (id, logprob) in &token.top {
            top.insert(named(run, *id, as_ids), number(*logprob));
        }
        top.into()
    };
    let names: Vec<String> = tokens.iter().map(|token| named(run, token.id, as_ids)).collect();
    let offsets = names.iter().scan(0, |at, name| {
        let here = *at;
        *at += name.len();
        Some(here)
    });
    json!({
        "text_offset": offsets.collect::<Vec<_>>(),
        "token_logprobs": tokens.iter().map(|token| value(token.logprob)).collect::<Value>(),
        "top_logprobs": tokens.iter().map(top).collect::<Value>(),
        "tokens": names,
    })
}

/// Of `/v1/chat/completions`.
pub(super) fn entries(run: &Run, from: usize, as_ids: bool) -> Value {
    let entry = |id: u32, logprob: Value| {
        let bytes = run.shared.text(&[id]).map(String::into_bytes);
        json!({ "token": named(run, id, as_ids), "logprob": logprob, "bytes": bytes })
    };
    let whole = |token: &&Token| {
        let mut whole = entry(token.id, value(token.logprob));
        let top = token.top.iter().map(|(id, logprob)| entry(*id, number(*logprob)));
        whole["top_logprobs"] = top.collect();
        whole
    };
    tokens(run, from)
        .map_or(Value::Null, |tokens| json!({ "content": tokens.iter().map(whole).collect::<Value>() }))
}

/// The prompt's scores, if they were asked for: null first, then for each position its id's entry.
pub(super) fn prompt(run: &Run) -> Value {
    let Some(scores) = &run.tally.scores else { return Value::Null };
    let entry = |(at, (score, id)): (usize, (&Option<f32>, &u32))| {
        if at == 0 {
            return Value::Null;
        }
        let mut entry = Map::new();
        let decoded = run.shared.text(&[*id]);
        let score = number(score.unwrap_or(NONE));
        entry.insert(id.to_string(), json!({ "logprob": score, "rank": 1, "decoded_token": decoded }));
        entry.into()
    };
    scores.iter().zip(&run.tally.prompt).enumerate().map(entry).collect()
}
