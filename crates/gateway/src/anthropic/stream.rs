//! A reply as events, token by token.

use std::time::Duration;

use axum::response::Response;
use verbatim_dialects::Frame;
use verbatim_dialects::anthropic::Stream;
use verbatim_families::Part;
use verbatim_session::{Committed, Reply, SampledToken};

use crate::ApiError;
use crate::reply::counts;
use crate::sse::{self, Teller};

/// Starts the stream.
pub(super) fn respond(silence: Duration, reply: Reply, model: String, shows_thinking: bool) -> Response {
    let stream = Stream::new(reply.response.clone(), model, shows_thinking);
    let prompt = reply.prompt_tokens;
    sse::respond(silence, reply, Events { stream, prompt })
}

struct Events {
    stream: Stream,
    prompt: usize,
}

impl Teller for Events {
    fn opened(&mut self) -> Vec<Frame> {
        vec![self.stream.opened(self.prompt)]
    }

    fn more(&mut self, parts: Vec<Part>, _: Vec<SampledToken>) -> Vec<Frame> {
        let (stream, mut out) = (&mut self.stream, Vec::new());
        for part in parts {
            match part {
                Part::Reasoning(text) => stream.reasoning(&text, &mut out),
                Part::Content(text) => stream.content(&text, &mut out),
                Part::CallStarted { id, name, .. } => stream.call(&id, &name, &mut out),
                Part::CallArguments { text, .. } => stream.arguments(&text, &mut out),
                Part::CallEnded { .. } => stream.call_ended(&mut out),
            }
        }
        out
    }

    fn committed(&mut self, committed: &Committed) -> Vec<Frame> {
        let finish = committed.turn.generated.finish;
        self.stream.finished(finish, committed.stop.as_deref(), counts(committed))
    }

    fn failed(&mut self, error: &ApiError) -> Frame {
        Frame { event: Some("error"), data: error.anthropic_body() }
    }

    fn alive(&mut self) -> Option<Frame> {
        Some(self.stream.alive())
    }
}
