//! A whole reply.

use std::borrow::Cow;

use serde::Serialize;
use verbatim_chat::Message;
use verbatim_events::Finish;

use super::Echo;
use super::items::{COMPLETED, IN_PROGRESS, INCOMPLETE, Item, of_message};
use crate::Counts;

/// `response`.
#[derive(Clone, Debug, Serialize)]
pub struct Response<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: &'static str,
    error: Option<&'a Failure>,
    incomplete_details: Option<Incomplete>,
    #[serde(flatten)]
    echo: &'a Echo,
    output: Cow<'a, [Item]>,
    usage: Option<Usage>,
}

/// Why a reply failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// A code of OpenAI's.
    pub code: String,
    /// What is wrong and the way out.
    pub message: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Incomplete {
    reason: &'static str,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Usage {
    input_tokens: usize,
    input_tokens_details: InputDetails,
    output_tokens: usize,
    output_tokens_details: OutputDetails,
    total_tokens: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct InputDetails {
    cached_tokens: u32,
    cache_write_tokens: u32,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct OutputDetails {
    reasoning_tokens: usize,
}

impl Usage {
    fn of(counts: Counts) -> Self {
        Self {
            input_tokens: counts.prompt,
            input_tokens_details: InputDetails { cached_tokens: counts.cached, cache_write_tokens: 0 },
            output_tokens: counts.sampled,
            output_tokens_details: OutputDetails { reasoning_tokens: counts.reasoning },
            total_tokens: counts.prompt + counts.sampled,
        }
    }
}

impl<'a> Response<'a> {
    /// The reply `id` that says `message`.
    pub fn new(
        id: &'a str,
        created: u64,
        echo: &'a Echo,
        message: &Message,
        finish: Finish,
        counts: Counts,
    ) -> Self {
        let mut items = of_message(digits(id), message, echo.thinking());
        cut(&mut items, finish);
        Self::over(id, created, echo, Cow::Owned(items), finish, counts)
    }

    /// A reply that is being made.
    pub(super) fn begun(id: &'a str, created: u64, echo: &'a Echo) -> Self {
        Self {
            id,
            object: "response",
            created_at: created,
            status: IN_PROGRESS,
            error: None,
            incomplete_details: None,
            echo,
            output: Cow::Borrowed(&[]),
            usage: None,
        }
    }

    /// A reply that is over.
    pub(super) fn over(
        id: &'a str,
        created: u64,
        echo: &'a Echo,
        output: Cow<'a, [Item]>,
        finish: Finish,
        counts: Counts,
    ) -> Self {
        let cut = finish == Finish::Length;
        Self {
            status: if cut { INCOMPLETE } else { COMPLETED },
            incomplete_details: cut.then_some(Incomplete { reason: "max_output_tokens" }),
            output,
            usage: Some(Usage::of(counts)),
            ..Self::begun(id, created, echo)
        }
    }

    /// A reply that failed.
    pub(super) fn failed(
        id: &'a str,
        created: u64,
        echo: &'a Echo,
        output: &'a [Item],
        why: &'a Failure,
    ) -> Self {
        let output = Cow::Borrowed(output);
        Self { status: "failed", error: Some(why), output, ..Self::begun(id, created, echo) }
    }
}

/// What was cut by the limit is not complete.
pub(super) fn cut(items: &mut [Item], finish: Finish) {
    if let (Finish::Length, Some(last)) = (finish, items.last_mut()) {
        last.set_status(INCOMPLETE);
    }
}

/// The digits of a reply's id.
pub(super) fn digits(id: &str) -> &str {
    id.strip_prefix(super::PREFIX).unwrap_or(id)
}
