//! What `/generate` answers, whole or in chunks.

use serde_json::{Map, Value, json};

use crate::answer::{Events, completion_tokens};
use crate::experts::{self, Experts};
use crate::fault::Fault;
use crate::run::{Run, status_of};
use crate::tally::{Finish, Logprob, Matched, Token};

/// What a request wants of its reply.
pub(super) struct Shape {
    /// Whether chunks are deltas.
    incremental: bool,
    /// Whether text ends before what stopped it.
    trim: bool,
    /// Whether logprob entries carry text.
    texts: bool,
    /// Whether the prompt's ids are echoed.
    prompt_ids: bool,
}

impl Shape {
    pub(super) fn read(body: &Value, incremental: bool) -> Self {
        let flag = |value: &Value| value.as_bool().unwrap_or_default();
        Self {
            incremental,
            trim: !flag(&body["sampling_params"]["no_stop_trim"]),
            texts: flag(&body["return_text_in_logprobs"]),
            prompt_ids: flag(&body["return_prompt_token_ids"]),
        }
    }

    /// As chat replies have it.
    pub(super) fn chat(trim: bool) -> Self {
        Self { incremental: false, trim, texts: true, prompt_ids: false }
    }
}

/// The status and message of a turn that is an HTTP error when it is not streamed.
pub(super) fn failure(run: &Run) -> Option<(u16, String)> {
    match run.tally.finish.as_ref()? {
        Finish::Abort { status: Some(status), message } => Some((*status, message.clone())),
        Finish::Failed(error) => Some((status_of(error), error.to_string())),
        _ => None,
    }
}

/// A reply with the output from `from` on; `whole` is the finishing message.
pub(super) fn body(run: &Run, shape: &Shape, from: usize, whole: bool) -> Value {
    let mut body = Map::new();
    if let Some(text) = text(run, shape, from) {
        body.insert("text".into(), text.into());
    }
    body.insert("output_ids".into(), run.tally.ids[from..].into());
    body.insert("meta_info".into(), meta(run, shape, from, whole));
    if shape.prompt_ids {
        body.insert("prompt_token_ids".into(), run.tally.prompt.clone().into());
    }
    body.into()
}

/// The reply's text from token `from` on, if there is a decoder.
pub(super) fn text(run: &Run, shape: &Shape, from: usize) -> Option<String> {
    let tally = &run.tally;
    let whole = run.shared.text(&tally.ids)?;
    let end = match &tally.finish {
        Some(Finish::Stop(Matched::Text(stop))) if shape.trim => whole.find(stop.as_str()),
        Some(Finish::Stop(Matched::Eos(_) | Matched::Token(_))) if shape.trim => {
            run.shared.text(&tally.ids[..tally.len() - 1]).map(|text| text.len())
        }
        _ => None,
    };
    let start = run.shared.text(&tally.ids[..from])?.len();
    let end = end.unwrap_or(whole.len());
    // A prefix's text may end in replacement characters and so not be a prefix.
    Some(whole.get(start.min(end)..end).unwrap_or_default().to_owned())
}

/// `meta_info`.
pub(super) fn meta(run: &Run, shape: &Shape, from: usize, whole: bool) -> Value {
    let tally = &run.tally;
    let thin = matches!(tally.finish, Some(Finish::WaitingAbort { .. }));
    let last = tally.spans.last().map(|span| span.version.as_str());
    let version = match last {
        Some(last) if whole && !run.shared.options.legacy => last.to_owned(),
        last => run.shared.version(last),
    };
    let mut meta = json!({
        "id": run.asked.rid,
        "finish_reason": tally.finish.as_ref().map_or(Value::Null, reason),
        "weight_version": version,
        "completion_tokens": completion_tokens(tally),
    });
    if !thin {
        meta["prompt_tokens"] = tally.prompt.len().into();
        meta["num_retractions"] = tally.retractions.into();
        meta["reasoning_tokens"] = 0.into();
        meta["cached_tokens"] = tally.cached.into();
        let details = json!({ "device": tally.cached, "host": 0 });
        meta["cached_tokens_details"] = if tally.cached > 0 { details } else { Value::Null };
        meta["dp_rank"] = Value::Null;
    }
    if run.asked.logprobs && !tally.plan.has(&Fault::NoLogprobs) {
        logprobs(&mut meta, run, shape, from, whole);
    }
    if whole {
        meta["e2e_latency"] = 0.01.into();
        if run.shared.options.spans && !run.shared.options.legacy && !tally.spans.is_empty() {
            let span = |span: &crate::tally::Span| json!({ "version": span.version, "start": span.start, "end": span.end });
            meta["weight_versions"] = tally.spans.iter().map(span).collect();
        }
        if let (Some(mixture), Some(start), false) =
            (run.shared.options.experts, run.asked.experts_start, thin)
        {
            meta["routed_experts"] = Experts::flat(&experts::rows(tally, &mixture, start)).into();
        }
        if let (Some(indexer), true, false) = (run.shared.options.indexer, run.asked.indexer, thin) {
            meta["indexer_topk"] = Experts::flat(&experts::rows(tally, &indexer, 0)).into();
            meta["indexer_topk_num_layers"] = indexer.layers.into();
        }
    }
    meta
}

fn logprobs(meta: &mut Value, run: &Run, shape: &Shape, from: usize, whole: bool) {
    let tally = &run.tally;
    let entry = |logprob: Value, id: u32| {
        let text = run.shared.text(&[id]).filter(|_| shape.texts);
        json!([logprob, id, text])
    };
    if let Some(scores) = &tally.scores {
        let start = run.asked.score_from.unwrap_or_default();
        let scored = scores.iter().zip(&tally.prompt).enumerate().skip(start);
        // The first one has none, wherever the list starts.
        let score = |at: usize, score: Option<f32>| score.filter(|_| at > start).map_or(Value::Null, number);
        meta["input_token_logprobs"] =
            scored.map(|(at, (value, id))| entry(score(at, *value), *id)).collect();
    } else {
        meta["input_token_logprobs"] = json!([]);
    }
    let sampled = tally.tokens[from..].iter();
    let mut list: Vec<Value> = sampled.map(|token| entry(value(token.logprob), token.id)).collect();
    if whole {
        tally.plan.wrong_length(tally.len()).spoil(&mut list);
    }
    // Of the whole output, in deltas too.
    meta["output_token_logprobs_length"] = (from + list.len()).into();
    meta["output_token_logprobs"] = list.into();
    if run.asked.params.top_logprobs > 0 {
        let top = |token: &Token| -> Value {
            token.top.iter().map(|(id, logprob)| entry(number(*logprob), *id)).collect()
        };
        meta["input_top_logprobs"] = json!([]);
        meta["output_top_logprobs"] = tally.tokens[from..].iter().map(top).collect();
    }
}

/// A logprob as SGLang writes it: what is missing or not finite is null.
fn value(logprob: Logprob) -> Value {
    match logprob {
        Logprob::Value(value) => number(value),
        Logprob::Missing | Logprob::Null => Value::Null,
    }
}

fn number(value: f32) -> Value {
    f64::from(value).into()
}

fn reason(finish: &Finish) -> Value {
    let abort = |message: &str, status: Option<u16>| json!({ "type": "abort", "message": message, "status_code": status, "err_type": null });
    match finish {
        Finish::Stop(Matched::Eos(id) | Matched::Token(id)) => json!({ "type": "stop", "matched": id }),
        Finish::Stop(Matched::Text(text)) => json!({ "type": "stop", "matched": text }),
        Finish::Stop(Matched::Other) | Finish::Repetition => json!({ "type": "stop", "matched": null }),
        Finish::Length(limit) => json!({ "type": "length", "length": limit }),
        Finish::Abort { message, status } => abort(message, *status),
        Finish::WaitingAbort { .. } => json!({ "type": "abort", "message": "Abort in waiting queue" }),
        Finish::Nan => json!({ "type": "stop", "matched": "NaN happened" }),
        Finish::Failed(error) => abort(&error.to_string(), Some(status_of(error))),
    }
}

/// `/generate`'s events.
pub(super) struct Chunks(pub(super) Shape);

impl Chunks {
    fn from(&self, sent: usize) -> usize {
        if self.0.incremental { sent } else { 0 }
    }
}

impl Events for Chunks {
    fn tokens(&mut self, run: &Run, sent: usize) -> Vec<String> {
        vec![body(run, &self.0, self.from(sent), false).to_string()]
    }

    fn closing(&mut self, run: &Run, sent: usize) -> Vec<String> {
        let mut last = body(run, &self.0, self.from(sent), true);
        if run.tally.finish == Some(Finish::WaitingAbort { duplicate: true }) && self.0.incremental {
            // SGLang #40901: the last id once more, everything else whole.
            last = body(run, &self.0, 0, true);
            last["output_ids"] = run.tally.ids.last().into_iter().copied().collect();
        }
        vec![last.to_string()]
    }

    fn error(&self, status: u16, message: &str) -> String {
        let kind = if status == 400 { "invalid_request_error" } else { "internal_server_error" };
        let error = json!({ "message": message, "type": kind, "code": status, "retryable": status >= 500 });
        json!({ "error": error }).to_string()
    }

    fn done(&self) -> Option<&'static str> {
        Some("[DONE]")
    }
}
