//! A reply as events, token by token.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use verbatim_dialects::Frame;
use verbatim_dialects::responses::{Echo, Failure, Stream};
use verbatim_families::Part;
use verbatim_session::{Committed, Reply, SampledToken};

use crate::ApiError;
use crate::reply::counts;
use crate::sse::{self, Teller};

/// Starts the stream.
pub(super) fn respond(silence: Duration, reply: Reply, created: u64, echo: Echo) -> Response {
    let stream = Stream::new(reply.response.clone(), created, echo);
    sse::respond(silence, reply, Events(stream))
}

struct Events(Stream);

impl Teller for Events {
    fn opened(&mut self) -> Vec<Frame> {
        self.0.opened()
    }

    fn more(&mut self, parts: Vec<Part>, _: Vec<SampledToken>) -> Vec<Frame> {
        let (stream, mut out) = (&mut self.0, Vec::new());
        for part in parts {
            match part {
                Part::Reasoning(text) => stream.reasoning(&text, &mut out),
                Part::Content(text) => stream.content(&text, &mut out),
                Part::CallStarted { index, id, name } => stream.call(index, &id, &name, &mut out),
                Part::CallArguments { text, .. } => stream.arguments(&text, &mut out),
                Part::CallEnded { .. } => stream.call_ended(&mut out),
            }
        }
        out
    }

    fn committed(&mut self, committed: &Committed) -> Vec<Frame> {
        self.0.finished(committed.turn.generated.finish, counts(committed))
    }

    fn failed(&mut self, error: &ApiError) -> Frame {
        self.0.failed(&failure(error))
    }

    fn alive(&mut self) -> Option<Frame> {
        Some(self.0.alive())
    }
}

/// A failure in OpenAI's codes of failed responses; what is wrong with a request keeps its own.
fn failure(error: &ApiError) -> Failure {
    let code = match error.status {
        StatusCode::BAD_REQUEST => error.code,
        _ => "server_error",
    };
    Failure { code: code.to_owned(), message: error.message.clone() }
}
