//! What one call has sampled so far.

use verbatim_engine::EngineError;

use crate::fault::Plan;

/// One sampled token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) logprob: Logprob,
    /// Alternatives, best first.
    pub(crate) top: Vec<(u32, f32)>,
}

/// A logprob as it goes out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Logprob {
    Value(f32),
    /// The engine has none: each wire says it in its way.
    Missing,
    /// JSON `null`, on purpose.
    Null,
}

/// Tokens `start..end` of the reply carry this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) version: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What ended a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Finish {
    Stop(Matched),
    Length(u32),
    Abort {
        message: String,
        status: Option<u16>,
    },
    /// Aborted while it waited; `duplicate` repeats the last id in an incremental stream.
    WaitingAbort {
        duplicate: bool,
    },
    Nan,
    Repetition,
    Failed(EngineError),
}

/// What stopped a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    /// The model's own end.
    Eos(u32),
    /// An id that the request named.
    Token(u32),
    Text(String),
    /// Something else, or nothing.
    Other,
}

/// Everything that a reply is made of.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) prompt: Vec<u32>,
    pub(crate) ids: Vec<u32>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) spans: Vec<Span>,
    pub(crate) cached: u32,
    pub(crate) retractions: u32,
    /// Of the whole prompt, if it was to be scored.
    pub(crate) scores: Option<Vec<Option<f32>>>,
    pub(crate) finish: Option<Finish>,
    pub(crate) plan: Plan,
}

impl Tally {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn push(&mut self, token: Token, version: String) {
        let at = self.ids.len();
        match self.spans.last_mut() {
            Some(span) if span.version == version => span.end = at + 1,
            _ => self.spans.push(Span { version, start: at, end: at + 1 }),
        }
        self.ids.push(token.id);
        self.tokens.push(token);
    }

    /// Prompt and reply.
    pub(crate) fn all(&self) -> Vec<u32> {
        self.prompt.iter().chain(&self.ids).copied().collect()
    }
}
