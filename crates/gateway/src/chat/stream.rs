//! A reply as chunks, token by token.

use axum::response::Response;
use verbatim_dialects::Frame;
use verbatim_dialects::chat::{Chunks, TokenLogprob, Usage};
use verbatim_families::Part;
use verbatim_session::{Committed, Reply, SampledToken};

use super::{Shape, logprobs};
use crate::reply::counts;
use crate::sse::{self, Teller};
use crate::{ApiError, App};

/// Starts the stream. The last events follow the commit; after an error nothing follows.
pub(super) fn respond(app: &App, reply: Reply, shape: Shape) -> Response {
    let chunks = Chunks::new(reply.response.clone(), shape.created, shape.model, shape.include_usage);
    let writer = Writer { app: app.clone(), chunks, with_logprobs: shape.logprobs, pending: Vec::new() };
    sse::respond(app.limits.silence, reply, writer)
}

struct Writer {
    app: App,
    chunks: Chunks,
    with_logprobs: bool,
    /// Logprobs of tokens that settled nothing yet.
    pending: Vec<TokenLogprob>,
}

impl Teller for Writer {
    fn opened(&mut self) -> Vec<Frame> {
        vec![Frame::unnamed(self.chunks.opened())]
    }

    fn more(&mut self, parts: Vec<Part>, tokens: Vec<SampledToken>) -> Vec<Frame> {
        if self.with_logprobs {
            let tokenizer = self.app.sessions.family().tokenizer();
            self.pending.extend(logprobs::entries(tokenizer.as_ref(), &tokens));
        }
        parts.into_iter().filter_map(|part| self.part(part)).map(Frame::unnamed).collect()
    }

    fn committed(&mut self, committed: &Committed) -> Vec<Frame> {
        let generated = &committed.turn.generated;
        let logprobs = self.logprobs();
        let usage = Usage::new(counts(committed));
        let mut last = vec![self.chunks.finished(generated.finish, logprobs)];
        last.extend(self.chunks.usage(usage));
        last.push("[DONE]".to_owned());
        last.into_iter().map(Frame::unnamed).collect()
    }

    fn failed(&mut self, error: &ApiError) -> Frame {
        Frame::unnamed(error.body())
    }

    fn alive(&mut self) -> Option<Frame> {
        None
    }
}

impl Writer {
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

    fn logprobs(&mut self) -> Option<Vec<TokenLogprob>> {
        self.with_logprobs.then(|| std::mem::take(&mut self.pending))
    }
}
