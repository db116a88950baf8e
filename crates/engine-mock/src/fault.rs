//! What can go wrong on purpose.

use std::time::Duration;

/// How a logprob is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLogprob {
    /// JSON `null`, as SGLang sends NaN and infinities.
    Null,
    /// `-9999.0`, as vLLM sends what it does not have.
    Sentinel,
    /// `-3.4028235e38`, as llama.cpp sends the logarithm of zero.
    Lowest,
}

/// A fault of one generate call. `after` counts sampled tokens of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This status and body; nothing is sampled.
    Status {
        /// The HTTP status.
        status: u16,
        /// The body, sent as JSON whatever it holds.
        body: String,
    },
    /// 503 in the wire's own words for a full queue. (SGLang's scheduler says it inside a stream too:
    /// that is [`Fault::Abort`] after no tokens with status 503.)
    QueueFull,
    /// 429 with `retry-after: 1`.
    TooMany,
    /// The connection is reset before the reply's head.
    Reset,
    /// Neither head nor reset ever comes.
    Hang,
    /// In a stream: HTTP 200, then the wire's error event and its terminator. Else that status.
    Error {
        /// Tokens before it.
        after: usize,
        /// The status in the event.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The connection is closed without the terminator; a whole reply is closed half way.
    Cut {
        /// Tokens before it.
        after: usize,
    },
    /// As [`Fault::Cut`], by a reset.
    CutByReset {
        /// Tokens before it.
        after: usize,
    },
    /// Everything is sent, the finish too, but the terminator (`[DONE]`) is not.
    NoDone,
    /// The stream falls silent and stays open; a whole reply stops half way.
    Stall {
        /// Tokens before it.
        after: usize,
    },
    /// The server aborts the request by itself: SGLang with `status` in the finish reason (and, if the
    /// reply is not streamed, as HTTP status), vLLM with `finish_reason: "abort"`, llama.cpp with `stop_type: "none"`.
    Abort {
        /// Tokens before it.
        after: usize,
        /// SGLang's `status_code`; `None` is a graceful abort.
        status: Option<u16>,
        /// What it says.
        message: String,
    },
    /// SGLang: the request was retracted and aborted in the waiting queue: thin `meta_info`, ids kept.
    WaitingAbort {
        /// Tokens before it.
        after: usize,
    },
    /// As [`Fault::WaitingAbort`] in an incremental stream of SGLang: the last chunk repeats the last
    /// id, the whole text and all logprobs (#40901).
    DuplicateAbort {
        /// Tokens before it.
        after: usize,
    },
    /// SGLang: the sampler saw NaN; the id at this place is replaced by a stop id and the finish says
    /// `NaN happened`. vLLM: `finish_reason: "error"`, which is HTTP 500.
    Nan {
        /// Tokens before it.
        after: usize,
    },
    /// vLLM: the turn ends with `finish_reason: "repetition"`.
    Repetition {
        /// Tokens before it.
        after: usize,
    },
    /// One logprob is spoilt.
    Logprob {
        /// The token's place.
        at: usize,
        /// How.
        bad: BadLogprob,
    },
    /// The last logprob is missing.
    MissingLogprob,
    /// The last logprob is sent twice.
    ExtraLogprob,
    /// No logprobs at all, though they were asked for.
    NoLogprobs,
    /// The count of completion tokens is off by this.
    Count(i64),
    /// The last row of routed experts is missing.
    MissingExperts,
    /// The token at this place has this id instead; its logprob stays.
    ForeignId {
        /// The token's place.
        at: usize,
        /// The id.
        id: u32,
    },
    /// The body comes in slices of this many bytes, each an HTTP chunk of its own: boundaries fall
    /// inside characters and inside `data:`.
    Split {
        /// Bytes a slice.
        bytes: usize,
        /// The wait after each.
        pause: Duration,
    },
    /// So many tokens an event.
    Coalesce(usize),
    /// So many events an HTTP chunk.
    Glue(usize),
    /// A wait before each event.
    Slow(Duration),
    /// The reply's head comes only after this.
    Late(Duration),
}

/// The faults of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan(pub(crate) Vec<Fault>);

impl Plan {
    /// The first answer that `look` finds.
    pub(crate) fn find<T>(&self, look: impl FnMut(&Fault) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(look)
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.0.contains(fault)
    }

    /// The number of logprobs that are sent for `count`.
    pub(crate) fn wrong_length(&self, count: usize) -> Length {
        if count == 0 {
            Length::Right
        } else if self.has(&Fault::MissingLogprob) {
            Length::Short
        } else if self.has(&Fault::ExtraLogprob) {
            Length::Long
        } else {
            Length::Right
        }
    }
}

/// Whether a list is as long as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Right,
    Short,
    Long,
}

impl Length {
    /// Makes `list` as wrong as it should be.
    pub(crate) fn spoil<T: Clone>(self, list: &mut Vec<T>) {
        match self {
            Self::Right => {}
            Self::Short => {
                list.pop();
            }
            Self::Long => list.extend(list.last().cloned()),
        }
    }
}
