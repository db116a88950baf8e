//! Whole replies of the three routes, and what chunks share with them.

use serde_json::{Value, json};

use super::logprobs;
use crate::answer::completion_tokens;
use crate::experts;
use crate::run::{Run, status_of};
use crate::tally::{Finish, Matched};

/// Which route is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/inference/v1/generate`.
    Tokens,
    /// `/v1/completions`.
    Completion,
    /// `/v1/chat/completions`.
    Chat,
}

/// What a request wants of its reply.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) route: Route,
    /// The id in the reply.
    pub(super) id: String,
    pub(super) return_ids: bool,
    pub(super) as_ids: bool,
    pub(super) versions: bool,
    pub(super) usage: bool,
}

impl Shape {
    pub(super) fn read(body: &Value, route: Route, id: String) -> Self {
        let flag = |name: &str| body[name].as_bool().unwrap_or_default();
        Self {
            route,
            id,
            return_ids: flag("return_token_ids"),
            as_ids: flag("return_tokens_as_token_ids"),
            versions: route == Route::Tokens || flag("return_weight_versions"),
            usage: body["stream_options"]["include_usage"].as_bool().unwrap_or_default(),
        }
    }
}

/// The status and message of a turn that has none but an error.
pub(super) fn failure(run: &Run) -> Option<(u16, String)> {
    match run.tally.finish.as_ref()? {
        Finish::Nan => Some((500, "Internal server error".into())),
        Finish::Failed(error) => Some((status_of(error), error.to_string())),
        _ => None,
    }
}

/// `finish_reason` and `stop_reason`. The model's own end has no stop reason.
pub(super) fn finish(run: &Run) -> (Value, Value) {
    match &run.tally.finish {
        None => (Value::Null, Value::Null),
        Some(Finish::Stop(Matched::Token(id))) => ("stop".into(), (*id).into()),
        Some(Finish::Stop(Matched::Text(text))) => ("stop".into(), text.as_str().into()),
        Some(Finish::Stop(Matched::Eos(_) | Matched::Other)) => ("stop".into(), Value::Null),
        Some(Finish::Length(_)) => ("length".into(), Value::Null),
        Some(Finish::Abort { .. } | Finish::WaitingAbort { .. }) => ("abort".into(), Value::Null),
        Some(Finish::Repetition) => ("repetition".into(), Value::Null),
        Some(Finish::Nan | Finish::Failed(_)) => ("error".into(), Value::Null),
    }
}

pub(super) fn usage(run: &Run) -> Value {
    let (prompt, completion) = (run.tally.prompt.len(), completion_tokens(&run.tally));
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt as i64 + completion,
        "prompt_tokens_details": null, "completion_tokens_details": null,
    })
}

/// Routed experts as a `.npy` file, once the turn is over.
pub(super) fn routes(run: &Run) -> Value {
    match (run.shared.options.experts, run.asked.experts_start, &run.tally.finish) {
        (Some(mixture), Some(start), Some(_)) => {
            mixture.npy(&experts::rows(&run.tally, &mixture, start)).into()
        }
        _ => Value::Null,
    }
}

pub(super) fn versions(run: &Run) -> Value {
    if run.tally.finish.is_none() || !run.shared.options.spans {
        return Value::Null;
    }
    let span =
        |span: &crate::tally::Span| json!({ "version": span.version, "start": span.start, "end": span.end });
    run.tally.spans.iter().map(span).collect()
}

/// The text of the tokens from `from` on; empty without a decoder.
pub(super) fn text(run: &Run, from: usize) -> String {
    let whole = run.shared.text(&run.tally.ids).unwrap_or_default();
    let before = run.shared.text(&run.tally.ids[..from]).unwrap_or_default();
    let end = match &run.tally.finish {
        Some(Finish::Stop(Matched::Text(stop))) => whole.find(stop.as_str()),
        _ => None,
    };
    let end = end.unwrap_or(whole.len());
    whole.get(before.len().min(end)..end).unwrap_or_default().to_owned()
}

/// A whole reply.
pub(super) fn whole(run: &Run, shape: &Shape) -> Value {
    match shape.route {
        Route::Tokens => tokens(run, shape),
        Route::Completion => completion(run, shape),
        Route::Chat => chat(run, shape),
    }
}

fn tokens(run: &Run, shape: &Shape) -> Value {
    let (reason, stop) = finish(run);
    let prompt_ids = shape.return_ids.then_some(&run.tally.prompt);
    json!({
        "request_id": shape.id, "model": run.shared.options.model, "created": 0, "output_mode": "tokens",
        "usage": usage(run),
        "prompt_logprobs": logprobs::prompt(run), "prompt_token_id_logprobs": null,
        "prompt_token_ids": prompt_ids, "mm_placeholders": null, "metrics": null,
        "kv_transfer_params": null, "ec_transfer_params": null,
        "choices": [{
            "index": 0, "finish_reason": reason, "stop_reason": stop, "token_ids": run.tally.ids,
            "logprobs": logprobs::by_id(run, 0), "routed_experts": routes(run), "sampling_mask": null,
            "weight_versions": versions(run),
        }],
    })
}

fn completion(run: &Run, shape: &Shape) -> Value {
    let (reason, stop) = finish(run);
    let ids = shape.return_ids.then_some(&run.tally.ids);
    let mut choice = json!({
        "index": 0, "text": text(run, 0), "logprobs": logprobs::lists(run, 0, shape.as_ids),
        "finish_reason": reason, "stop_reason": stop, "token_ids": ids,
        "prompt_logprobs": logprobs::prompt(run),
        "prompt_token_ids": shape.return_ids.then_some(&run.tally.prompt),
        "routed_experts": routes(run),
    });
    if shape.versions {
        choice["weight_versions"] = versions(run);
    }
    json!({
        "id": shape.id, "object": "text_completion", "created": 0, "model": run.shared.options.model,
        "choices": [choice], "usage": usage(run), "kv_transfer_params": null,
    })
}

fn chat(run: &Run, shape: &Shape) -> Value {
    let (mut reason, stop) = finish(run);
    let message = match &run.shared.options.parse {
        Some(parse) => parse(&run.tally.ids),
        None => json!({ "role": "assistant", "content": text(run, 0), "reasoning": null, "tool_calls": [] }),
    };
    if reason == "stop" && message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
        reason = "tool_calls".into();
    }
    let mut choice = json!({
        "index": 0, "message": message, "logprobs": logprobs::entries(run, 0, shape.as_ids),
        "finish_reason": reason, "stop_reason": stop,
        "token_ids": shape.return_ids.then_some(&run.tally.ids),
        "routed_experts": routes(run),
    });
    if shape.versions {
        choice["weight_versions"] = versions(run);
    }
    json!({
        "id": shape.id, "object": "chat.completion", "created": 0, "model": run.shared.options.model,
        "choices": [choice], "usage": usage(run), "prompt_logprobs": logprobs::prompt(run),
        "prompt_token_ids": shape.return_ids.then_some(&run.tally.prompt), "kv_transfer_params": null,
    })
}
