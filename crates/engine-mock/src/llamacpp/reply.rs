//! What `/completion` answers, whole or in chunks.

use serde_json::{Value, json};

use super::body as error_body;
use crate::answer::{Events, completion_tokens};
use crate::fault::Fault;
use crate::run::{Run, status_of};
use crate::tally::{Finish, Logprob, Matched, Token};

/// What a request wants of its reply.
pub(super) struct Shape {
    /// Whether the whole reply has ids; chunks always have.
    ids: bool,
    /// Whether probabilities are those after the sampler chain.
    post: bool,
    probabilities: bool,
    slot: i64,
    /// What a whole reply is to have; all of it if this is empty.
    fields: Vec<String>,
}

impl Shape {
    pub(super) fn read(body: &Value) -> Self {
        let fields = body["response_fields"].as_array().into_iter().flatten();
        Self {
            fields: fields.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
            ids: body["return_tokens"].as_bool().unwrap_or_default(),
            post: body["post_sampling_probs"].as_bool().unwrap_or_default(),
            probabilities: body["n_probs"].as_u64().unwrap_or_default() > 0,
            slot: body["id_slot"].as_i64().filter(|slot| *slot >= 0).unwrap_or_default(),
        }
    }
}

/// The status and message of a turn that has none but an error.
pub(super) fn failure(run: &Run) -> Option<(u16, String)> {
    match run.tally.finish.as_ref()? {
        Finish::Failed(error) => Some((status_of(error), error.to_string())),
        Finish::Nan => Some((500, "failed to sample token".into())),
        _ => None,
    }
}

/// Whether a token ends inside a character: it has neither a chunk nor a probability.
fn complete(run: &Run, token: &Token) -> bool {
    !run.shared.options.incomplete.contains(&token.id)
}

fn probabilities(run: &Run, shape: &Shape, from: usize) -> Vec<Value> {
    let tally = &run.tally;
    let text = |id: u32| run.shared.text(&[id]).unwrap_or_default();
    let number = |logprob: f32| f64::from(if shape.post { logprob.exp() } else { logprob });
    let value = |logprob: Logprob| match logprob {
        Logprob::Value(value) => number(value).into(),
        // The logarithm of zero.
        Logprob::Missing => number(f32::MIN).into(),
        Logprob::Null => Value::Null,
    };
    let (name, top) = if shape.post { ("prob", "top_probs") } else { ("logprob", "top_logprobs") };
    let entry = |id: u32, logprob: Value| {
        let text = text(id);
        json!({ "id": id, "bytes": text.as_bytes(), "token": text, name: logprob })
    };
    let whole = |token: &Token| {
        let mut whole = entry(token.id, value(token.logprob));
        whole[top] = token.top.iter().map(|(id, logprob)| entry(*id, number(*logprob).into())).collect();
        whole
    };
    let mut list: Vec<Value> =
        tally.tokens[from..].iter().filter(|token| complete(run, token)).map(whole).collect();
    if tally.finish.is_some() {
        tally.plan.wrong_length(list.len()).spoil(&mut list);
    }
    list
}

fn text(run: &Run, from: usize) -> String {
    let whole = run.shared.text(&run.tally.ids).unwrap_or_default();
    let before = run.shared.text(&run.tally.ids[..from]).unwrap_or_default();
    let end = match &run.tally.finish {
        Some(Finish::Stop(Matched::Text(stop))) => whole.find(stop.as_str()),
        _ => None,
    };
    let end = end.unwrap_or(whole.len());
    whole.get(before.len().min(end)..end).unwrap_or_default().to_owned()
}

/// `stop_type` and `stopping_word`.
fn stop(run: &Run) -> (&'static str, &str) {
    match &run.tally.finish {
        Some(Finish::Stop(Matched::Text(word))) => ("word", word),
        Some(Finish::Stop(_) | Finish::Repetition) => ("eos", ""),
        Some(Finish::Length(_)) => ("limit", ""),
        _ => ("none", ""),
    }
}

/// A whole reply; also the last chunk of a stream, without what was streamed.
pub(super) fn whole(run: &Run, shape: &Shape) -> Value {
    let mut body = last(run, shape);
    body["content"] = text(run, 0).into();
    if shape.ids {
        body["tokens"] = run.tally.ids.clone().into();
    }
    if shape.probabilities && !run.tally.plan.has(&Fault::NoLogprobs) {
        let mut list = probabilities(run, shape, 0);
        list.truncate(list.len().saturating_sub(swallowed(run)));
        body["completion_probabilities"] = list.into();
    }
    if let Some(body) = body.as_object_mut().filter(|_| !shape.fields.is_empty()) {
        body.retain(|name, _| shape.fields.iter().any(|field| field == name));
    }
    body
}

/// How many tokens a stop string reaches into: a whole reply has their ids but not their probabilities.
fn swallowed(run: &Run) -> usize {
    let Some(Finish::Stop(Matched::Text(stop))) = &run.tally.finish else { return 0 };
    let ids = &run.tally.ids;
    let text = |count: usize| run.shared.text(&ids[..count]).unwrap_or_default();
    let Some(start) = text(ids.len()).find(stop.as_str()) else { return 0 };
    (1..=ids.len()).filter(|count| text(*count).len() > start).count()
}

fn last(run: &Run, shape: &Shape) -> Value {
    let (kind, word) = stop(run);
    let (tally, params) = (&run.tally, &run.asked.params);
    json!({
        "index": 0, "content": "", "tokens": [], "id_slot": shape.slot, "stop": true,
        "model": run.shared.options.model,
        "tokens_predicted": completion_tokens(tally), "tokens_evaluated": tally.prompt.len(),
        "generation_settings": {
            "seed": params.seed, "temperature": params.temperature, "top_k": params.top_k.unwrap_or_default(),
            "top_p": params.top_p, "min_p": params.min_p, "n_predict": params.max_tokens,
        },
        "prompt": "", "has_new_line": false, "truncated": false, "stop_type": kind, "stopping_word": word,
        "tokens_cached": (tally.prompt.len() + tally.len()).saturating_sub(1),
        "timings": { "cache_n": tally.cached, "prompt_n": tally.prompt.len().saturating_sub(tally.cached as usize) },
    })
}

/// `/completion`'s events. There is no terminator.
pub(super) struct Chunks(pub(super) Shape);

impl Events for Chunks {
    fn tokens(&mut self, run: &Run, sent: usize) -> Vec<String> {
        let shown: Vec<&Token> =
            run.tally.tokens[sent..].iter().filter(|token| complete(run, token)).collect();
        if shown.is_empty() {
            return Vec::new();
        }
        let mut chunk = json!({
            "index": 0, "content": text(run, sent), "tokens": shown.iter().map(|token| token.id).collect::<Vec<_>>(),
            "stop": false, "id_slot": -1,
            "tokens_predicted": run.tally.len(), "tokens_evaluated": run.tally.prompt.len(),
        });
        if self.0.probabilities && !run.tally.plan.has(&Fault::NoLogprobs) {
            chunk["completion_probabilities"] = probabilities(run, &self.0, sent).into();
        }
        vec![chunk.to_string()]
    }

    fn closing(&mut self, run: &Run, sent: usize) -> Vec<String> {
        if let Some((status, message)) = failure(run) {
            return vec![self.error(status, &message)];
        }
        let mut events = self.tokens(run, sent);
        events.push(last(run, &self.0).to_string());
        events
    }

    fn error(&self, status: u16, message: &str) -> String {
        json!({ "error": error_body(status, message) }).to_string()
    }

    fn done(&self) -> Option<&'static str> {
        None
    }
}
