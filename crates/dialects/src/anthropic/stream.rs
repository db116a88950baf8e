//! A streamed reply, event by event.
//!
//! The invariant: blocks are told one after another, each begun, told in pieces and stopped; a thinking block ends
//! with the seal of what it said.

use std::borrow::Cow;

use serde_json::value::RawValue;
use verbatim_events::Finish;

use super::events::{Delta, Event};
use super::reply::{Block, Reply, Stop, Usage, digits};
use crate::seal::seal;
use crate::{Counts, Frame};

/// Makes the events of one reply.
#[derive(Clone, Debug)]
pub struct Stream {
    id: String,
    model: String,
    shows_thinking: bool,
    /// The block that is being told.
    open: Option<Open>,
    /// Blocks that were told.
    told: usize,
    /// Blocks of thinking so far.
    thoughts: usize,
    calls: bool,
}

#[derive(Clone, Debug)]
enum Open {
    /// What was thought, for the seal.
    Thinking(String),
    Text,
    Call,
}

impl Stream {
    /// The stream of the reply `id`.
    pub fn new(id: String, model: String, shows_thinking: bool) -> Self {
        Self { id, model, shows_thinking, open: None, told: 0, thoughts: 0, calls: false }
    }

    /// The first event, with the number of tokens that the model reads.
    pub fn opened(&self, prompt: usize) -> Frame {
        let usage = Usage::of(Counts { prompt, ..Counts::default() });
        Event::MessageStart { message: Reply::begun(&self.id, &self.model, usage) }.frame()
    }

    /// An event that says that the reply is still being made.
    pub fn alive(&self) -> Frame {
        Event::Ping.frame()
    }

    /// More reasoning.
    pub fn reasoning(&mut self, text: &str, out: &mut Vec<Frame>) {
        if !matches!(self.open, Some(Open::Thinking(_))) {
            self.begin(
                Open::Thinking(String::new()),
                Block::Thinking { thinking: "", signature: String::new() },
                out,
            );
        }
        if let Some(Open::Thinking(said)) = &mut self.open {
            said.push_str(text);
        }
        if self.shows_thinking {
            self.delta(Delta::ThinkingDelta { thinking: text }, out);
        }
    }

    /// More content.
    pub fn content(&mut self, text: &str, out: &mut Vec<Frame>) {
        if !matches!(self.open, Some(Open::Text)) {
            self.begin(Open::Text, Block::Text { text: Cow::Borrowed("") }, out);
        }
        self.delta(Delta::TextDelta { text }, out);
    }

    /// A call begins.
    pub fn call(&mut self, id: &str, name: &str, out: &mut Vec<Frame>) {
        self.calls = true;
        let input = RawValue::from_string("{}".to_owned()).unwrap_or_default();
        self.begin(Open::Call, Block::ToolUse { id, name, input }, out);
    }

    /// More of the arguments of the call that is being told.
    pub fn arguments(&mut self, text: &str, out: &mut Vec<Frame>) {
        if matches!(self.open, Some(Open::Call)) {
            self.delta(Delta::InputJsonDelta { partial_json: text }, out);
        }
    }

    /// The call is complete.
    pub fn call_ended(&mut self, out: &mut Vec<Frame>) {
        self.close(out);
    }

    /// The reply is committed; `stop` is the stop sequence that ended it.
    pub fn finished(&mut self, finish: Finish, stop: Option<&str>, counts: Counts) -> Vec<Frame> {
        let mut out = Vec::new();
        self.close(&mut out);
        let delta = Stop::of(finish, stop, self.calls);
        out.push(Event::MessageDelta { delta, usage: Usage::of(counts) }.frame());
        out.push(Event::MessageStop.frame());
        out
    }

    fn begin(&mut self, open: Open, block: Block<'_>, out: &mut Vec<Frame>) {
        self.close(out);
        out.push(Event::ContentBlockStart { index: self.told, content_block: block }.frame());
        self.open = Some(open);
    }

    fn delta(&self, delta: Delta<'_>, out: &mut Vec<Frame>) {
        out.push(Event::ContentBlockDelta { index: self.told, delta }.frame());
    }

    fn close(&mut self, out: &mut Vec<Frame>) {
        let Some(open) = self.open.take() else { return };
        if let Open::Thinking(said) = open {
            let signature = seal(digits(&self.id), self.thoughts, &said);
            self.delta(Delta::SignatureDelta { signature }, out);
            self.thoughts += 1;
        }
        out.push(Event::ContentBlockStop { index: self.told }.frame());
        self.told += 1;
    }
}
