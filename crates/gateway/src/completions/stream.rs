//! A completion as chunks, token by token.

use axum::response::Response;
use verbatim_dialects::Frame;
use verbatim_dialects::chat::Usage;
use verbatim_dialects::completions::Chunks;
use verbatim_families::Part;
use verbatim_session::{Committed, Reply, SampledToken};

use super::spell::Speller;
use crate::reply::counts;
use crate::sse::{self, Teller};
use crate::{ApiError, App};

/// Starts the stream.
pub(super) fn respond(
    app: &App,
    reply: Reply,
    created: u64,
    model: String,
    include_usage: bool,
    speller: Speller,
) -> Response {
    let chunks = Chunks::new(reply.response.clone(), created, model, include_usage);
    sse::respond(app.limits.silence, reply, Writer { chunks, speller, pending: Vec::new() })
}

struct Writer {
    chunks: Chunks,
    speller: Speller,
    /// Tokens that settled nothing yet.
    pending: Vec<SampledToken>,
}

impl Teller for Writer {
    fn opened(&mut self) -> Vec<Frame> {
        Vec::new()
    }

    fn more(&mut self, parts: Vec<Part>, tokens: Vec<SampledToken>) -> Vec<Frame> {
        self.pending.extend(tokens);
        let text: String = parts
            .into_iter()
            .filter_map(|part| if let Part::Content(text) = part { Some(text) } else { None })
            .collect();
        if text.is_empty() {
            return Vec::new();
        }
        let said = self.speller.spell(text, &std::mem::take(&mut self.pending));
        vec![Frame::unnamed(self.chunks.more(&said))]
    }

    fn committed(&mut self, committed: &Committed) -> Vec<Frame> {
        let said = self.speller.spell(String::new(), &std::mem::take(&mut self.pending));
        let mut last = vec![self.chunks.finished(&said, committed.turn.generated.finish)];
        last.extend(self.chunks.usage(Usage::new(counts(committed))));
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
