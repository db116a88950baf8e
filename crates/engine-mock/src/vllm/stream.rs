//! The same as deltas.

use serde_json::{Value, json};

use super::reply::{self, Route, Shape};
use super::{body, logprobs};
use crate::answer::Events;
use crate::run::Run;
use crate::tally::Finish;

/// Chunks of one call.
pub(super) struct Chunks {
    pub(super) shape: Shape,
    /// Whether the prompt's ids still have to be sent.
    pub(super) first: bool,
}

impl Chunks {
    /// The tokens `from..to`, with the finish if `last`.
    fn chunk(&mut self, run: &Run, from: usize, last: bool) -> String {
        let (reason, stop) = if last { reply::finish(run) } else { (Value::Null, Value::Null) };
        let ids = &run.tally.ids[from..];
        let first = std::mem::take(&mut self.first);
        let prompt = (first && self.shape.return_ids).then_some(&run.tally.prompt);
        let shape = &self.shape;
        let shown = shape.return_ids.then_some(ids);
        let chunk = match shape.route {
            Route::Tokens => json!({
                "request_id": shape.id, "usage": null, "output_mode": "tokens", "prompt_token_ids": prompt,
                "choices": [{
                    "index": 0, "finish_reason": reason, "stop_reason": stop, "token_ids": ids,
                    "logprobs": logprobs::by_id(run, from), "routed_experts": reply::routes(run),
                    "sampling_mask": null, "weight_versions": reply::versions(run),
                }],
            }),
            Route::Completion => json!({
                "id": shape.id, "object": "text_completion", "created": 0, "model": run.shared.options.model,
                "choices": [{
                    "index": 0, "text": reply::text(run, from),
                    "logprobs": logprobs::lists(run, from, shape.as_ids),
                    "finish_reason": reason, "stop_reason": stop, "prompt_token_ids": prompt, "token_ids": shown,
                }],
            }),
            Route::Chat => json!({
                "id": shape.id, "object": "chat.completion.chunk", "created": 0,
                "model": run.shared.options.model, "prompt_token_ids": prompt,
                "choices": [{
                    "index": 0, "delta": { "content": reply::text(run, from) },
                    "logprobs": logprobs::entries(run, from, shape.as_ids),
                    "finish_reason": reason, "stop_reason": stop, "token_ids": shown,
                }],
            }),
        };
        chunk.to_string()
    }
}

impl Events for Chunks {
    fn opening(&mut self, run: &Run) -> Vec<String> {
        if self.shape.route != Route::Chat {
            return Vec::new();
        }
        let prompt = std::mem::take(&mut self.first) && self.shape.return_ids;
        let chunk = json!({
            "id": self.shape.id, "object": "chat.completion.chunk", "created": 0,
            "model": run.shared.options.model, "prompt_token_ids": prompt.then_some(&run.tally.prompt),
            "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null }],
        });
        vec![chunk.to_string()]
    }

    fn tokens(&mut self, run: &Run, sent: usize) -> Vec<String> {
        vec![self.chunk(run, sent, false)]
    }

    fn closing(&mut self, run: &Run, sent: usize) -> Vec<String> {
        if let Some((status, message)) = reply::failure(run) {
            return vec![self.error(status, &message)];
        }
        let mut last = Vec::new();
        let aborted = matches!(run.tally.finish, Some(Finish::Abort { .. } | Finish::WaitingAbort { .. }));
        let rest = run.tally.len();
        if aborted && sent < rest {
            last.push(self.chunk(run, sent, false));
        }
        // An abort's last chunk has no ids.
        last.push(self.chunk(run, if aborted { rest } else { sent }, true));
        if self.shape.usage {
            let name = if self.shape.route == Route::Tokens { "request_id" } else { "id" };
            last.push(json!({ name: self.shape.id, "choices": [], "usage": reply::usage(run) }).to_string());
        }
        last
    }

    fn error(&self, status: u16, message: &str) -> String {
        json!({ "error": body(status, message) }).to_string()
    }

    fn done(&self) -> Option<&'static str> {
        Some("[DONE]")
    }
}
