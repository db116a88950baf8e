//! A reply as server-sent events, token by token.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderValue;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use verbatim_dialects::chat::{Chunks, TokenLogprob, Usage};
use verbatim_families::Part;
use verbatim_session::{Committed, Reply, TurnError, TurnEvent};

use super::{Shape, logprobs};
use crate::{ApiError, App};

/// How often a comment is sent while nothing else is, so that idle time-outs on the way do not cut a
/// held turn.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Starts the stream. The last events follow the commit; after an error nothing follows.
pub(super) fn respond(app: &App, reply: Reply, shape: Shape) -> Response {
    let Reply { response, events } = reply;
    let chunks = Chunks::new(response, shape.created, shape.model, shape.include_usage);
    let opened = chunks.opened();
    let writer = Writer { app: app.clone(), chunks, with_logprobs: shape.logprobs, pending: Vec::new() };
    let rest = futures::stream::unfold(Some((writer, events)), |state| async {
        let (mut writer, mut events) = state?;
        match events.recv().await {
            Some(TurnEvent::Delta { parts, tokens }) => {
                Some((writer.delta(parts, tokens), Some((writer, events))))
            }
            Some(TurnEvent::Committed(committed)) => Some((writer.end(&committed), None)),
            Some(TurnEvent::Failed(error)) => Some((vec![ApiError::from(error).body()], None)),
            None => Some((vec![ApiError::from(TurnError::Closed).body()], None)),
        }
    });
    let data = futures::stream::iter([opened]).chain(rest.flat_map(futures::stream::iter));
    let frames = data.map(|data| Ok::<_, Infallible>(Event::default().data(data)));
    let mut response = Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Writer {
    app: App,
    chunks: Chunks,
    with_logprobs: bool,
    /// Logprobs of tokens that settled nothing yet.
    pending: Vec<TokenLogprob>,
}

impl Writer {
    fn delta(&mut self, parts: Vec<Part>, tokens: Vec<verbatim_session::SampledToken>) -> Vec<String> {
        if self.with_logprobs {
            let tokenizer = self.app.sessions.family().tokenizer();
            self.pending.extend(logprobs::entries(tokenizer.as_ref(), &tokens));
        }
        parts.into_iter().filter_map(|part| self.part(part)).collect()
    }

    fn part(&mut self, part: Part) -> Option<String> {
        Some(match part {
            Part::Content(text) => {
                let logprobs = self.logprobs();
                self.chunks.content(&text, logprobs)
            }
            Part::Reasoning(text) => {
                let logprobs = self.logprobs();
                self.chunks.reasoning(&text, logprobs)
            }
            Part::CallStarted { index, id, name } => self.chunks.call(index, &id, &name),
            Part::CallArguments { index, text } => self.chunks.arguments(index, &text),
            Part::CallEnded { .. } => return None,
        })
    }

    fn end(&mut self, committed: &Committed) -> Vec<String> {
        let generated = &committed.turn.generated;
        let logprobs = self.logprobs();
        let usage = Usage::new(committed.prompt_tokens, generated.sampled.len(), generated.cached_tokens);
        let mut last = vec![self.chunks.finished(generated.finish, logprobs)];
        last.extend(self.chunks.usage(usage));
        last.push("[DONE]".to_owned());
        last
    }

    fn logprobs(&mut self) -> Option<Vec<TokenLogprob>> {
        self.with_logprobs.then(|| std::mem::take(&mut self.pending))
    }
}
