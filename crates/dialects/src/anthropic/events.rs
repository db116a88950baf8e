//! Events of a stream.

use serde::Serialize;

use super::reply::{Block, Reply, Stop, Usage};
use crate::Frame;

/// One event.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    MessageStart { message: Reply<'a> },
    ContentBlockStart { index: usize, content_block: Block<'a> },
    ContentBlockDelta { index: usize, delta: Delta<'a> },
    ContentBlockStop { index: usize },
    MessageDelta { delta: Stop<'a>, usage: Usage },
    MessageStop,
    Ping,
}

/// More of a block.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::enum_variant_names, reason = "the wire's own names")]
pub(super) enum Delta<'a> {
    ThinkingDelta { thinking: &'a str },
    SignatureDelta { signature: String },
    TextDelta { text: &'a str },
    InputJsonDelta { partial_json: &'a str },
}

impl Event<'_> {
    pub(super) fn frame(&self) -> Frame {
        let name = match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Ping => "ping",
        };
        Frame::named(name, self)
    }
}
