//! What an agent sent and was told, request by request.
//!
//! The invariant: a recording says what was seen and nothing more. What a file does not tell (when a reply ended, what
//! it said) is absent, and whoever judges must take it for unknown.

mod har;
mod jsonl;
mod read;
mod reply;

use verbatim_chat::Message;

pub use jsonl::line;
pub use read::{RecordingError, read};
pub use reply::{Reply, reply};

/// The requests of one run of an agent, in order of arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The requests that ask a model for a turn.
    pub exchanges: Vec<Exchange>,
    /// Paths that were asked for and are no model requests of a known dialect.
    pub strangers: Vec<String>,
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Dialect {
    /// Of a request's path, its query left out; none if it asks for something else.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        match path {
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/messages") => Some(Self::Messages),
            _ => None,
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }
}

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The path, its query included.
    pub path: String,
    /// Its wire format.
    pub dialect: Dialect,
    /// Headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body: a JSON object.
    pub body: Box<str>,
    /// Seconds from the first request to this one's arrival.
    pub arrived: Option<f64>,
    /// Seconds from the first request to the end of the reply, or until the client left.
    pub ended: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Exchange {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "most of a recording are replies, and a box each saves nothing")]
pub enum Outcome {
    /// A whole reply.
    Replied(Reply),
    /// A status that is no success.
    Refused(u16),
    /// The client left before the reply's end.
    Left,
    /// The recording does not say, or what it says cannot be read.
    Unknown,
}

impl Outcome {
    /// The message that was replied.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Replied(reply) => Some(&reply.message),
            _ => None,
        }
    }
}
