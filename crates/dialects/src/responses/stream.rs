//! A streamed reply, event by event.
//!
//! The invariant: every item is added, told in pieces and done, in this order; one is told at a time; and the
//! items of the last event are those that were done. Numbers count every event.

use std::borrow::Cow;

use verbatim_events::Finish;

use super::Echo;
use super::events::Event;
use super::items::{COMPLETED, Item, Text, Thinking};
use super::reply::{Failure, Response, cut, digits};
use crate::{Counts, Frame};

/// Makes the events of one reply.
#[derive(Clone, Debug)]
pub struct Stream {
    id: String,
    created: u64,
    echo: Echo,
    told: Thinking,
    number: u64,
    /// What is done.
    items: Vec<Item>,
    open: Option<Open>,
    /// Blocks of reasoning and messages that are done.
    blocks: usize,
    messages: usize,
}

/// The item that is being told, and its text so far.
#[derive(Clone, Debug)]
struct Open {
    item: Item,
    text: String,
}

impl Stream {
    /// The stream of the reply `id`.
    pub fn new(id: String, created: u64, echo: Echo) -> Self {
        let told = echo.thinking();
        Self { id, created, told, echo, number: 0, items: Vec::new(), open: None, blocks: 0, messages: 0 }
    }

    /// The first events.
    pub fn opened(&mut self) -> Vec<Frame> {
        vec![self.whole("response.created"), self.whole("response.in_progress")]
    }

    /// An event that says that the reply is still being made.
    pub fn alive(&mut self) -> Frame {
        self.whole("response.in_progress")
    }

    /// More reasoning.
    pub fn reasoning(&mut self, text: &str, out: &mut Vec<Frame>) {
        if !matches!(self.open, Some(Open { item: Item::Reasoning { .. }, .. })) {
            self.close(out);
            let item = Item::reasoning(digits(&self.id), self.blocks, String::new(), Thinking::default());
            self.begin(item, out);
        }
        let (kind, content_index, summary_index) = match self.told.summarised {
            true => ("response.reasoning_summary_text.delta", None, Some(0)),
            false => ("response.reasoning_text.delta", Some(0), None),
        };
        self.delta(text, Event { r#type: kind, content_index, summary_index, ..Event::default() }, out);
    }

    /// More content.
    pub fn content(&mut self, text: &str, out: &mut Vec<Frame>) {
        if !matches!(self.open, Some(Open { item: Item::Message { .. }, .. })) {
            self.close(out);
            let item = Item::message(digits(&self.id), self.messages, String::new());
            self.begin(item, out);
        }
        let kind = "response.output_text.delta";
        let event = Event { r#type: kind, content_index: Some(0), logprobs: Some([]), ..Event::default() };
        self.delta(text, event, out);
    }

    /// A call begins.
    pub fn call(&mut self, index: usize, id: &str, name: &str, out: &mut Vec<Frame>) {
        self.close(out);
        self.begin(Item::call(digits(&self.id), index, id, name, String::new()), out);
    }

    /// More of the arguments of the call that is being told.
    pub fn arguments(&mut self, text: &str, out: &mut Vec<Frame>) {
        let kind = "response.function_call_arguments.delta";
        self.delta(text, Event { r#type: kind, ..Event::default() }, out);
    }

    /// The call is complete.
    pub fn call_ended(&mut self, out: &mut Vec<Frame>) {
        self.close(out);
    }

    /// The reply is committed.
    pub fn finished(&mut self, finish: Finish, counts: Counts) -> Vec<Frame> {
        let mut out = Vec::new();
        if self.items.is_empty() && self.open.is_none() {
            let item = Item::message(digits(&self.id), 0, String::new());
            self.begin(item, &mut out);
        }
        self.close_as(finish, &mut out);
        cut(&mut self.items, finish);
        let kind = match finish {
            Finish::Stop => "response.completed",
            Finish::Length => "response.incomplete",
        };
        let output = Cow::Borrowed(self.items.as_slice());
        let response = Response::over(&self.id, self.created, &self.echo, output, finish, counts);
        let event = Event {
            r#type: kind,
            sequence_number: self.number,
            response: Some(response),
            ..Event::default()
        };
        out.push(Frame::named(kind, &event));
        out
    }

    /// The reply failed; nothing follows.
    pub fn failed(&mut self, why: &Failure) -> Frame {
        let kind = "response.failed";
        let response = Response::failed(&self.id, self.created, &self.echo, &self.items, why);
        let event = Event {
            r#type: kind,
            sequence_number: self.number,
            response: Some(response),
            ..Event::default()
        };
        Frame::named(kind, &event)
    }

    fn whole(&mut self, kind: &'static str) -> Frame {
        let response = Response::begun(&self.id, self.created, &self.echo);
        let event = Event {
            r#type: kind,
            sequence_number: self.number,
            response: Some(response),
            ..Event::default()
        };
        self.number += 1;
        Frame::named(kind, &event)
    }

    /// An item begins.
    fn begin(&mut self, item: Item, out: &mut Vec<Frame>) {
        let item = item.begun();
        let mut place = Place { output: self.items.len(), id: item.id(), number: &mut self.number };
        place
            .tell(Event { r#type: "response.output_item.added", item: Some(&item), ..Event::default() }, out);
        match &item {
            Item::Message { .. } => {
                let part = Text::output(String::new());
                place.part("response.content_part.added", &part, out);
            }
            Item::Reasoning { .. } if self.told.summarised => {
                let part = Text::summary(String::new());
                place.part("response.reasoning_summary_part.added", &part, out);
            }
            Item::Reasoning { .. } => {
                let part = Text::reasoning(String::new());
                place.part("response.content_part.added", &part, out);
            }
            Item::FunctionCall { .. } => {}
        }
        self.open = Some(Open { item, text: String::new() });
    }

    fn delta(&mut self, text: &str, event: Event<'_>, out: &mut Vec<Frame>) {
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let mut place = Place { output: self.items.len(), id: open.item.id(), number: &mut self.number };
        place.piece(Event { delta: Some(text), ..event }, out);
    }

    fn close(&mut self, out: &mut Vec<Frame>) {
        self.close_as(Finish::Stop, out);
    }

    /// The open item is done.
    fn close_as(&mut self, finish: Finish, out: &mut Vec<Frame>) {
        let Some(Open { item, text }) = self.open.take() else { return };
        let digits = digits(&self.id);
        let mut place = Place { output: self.items.len(), id: item.id(), number: &mut self.number };
        let done = match &item {
            Item::Message { .. } => {
                let kind = "response.output_text.done";
                let said = Event {
                    r#type: kind,
                    content_index: Some(0),
                    text: Some(&text),
                    logprobs: Some([]),
                    ..Event::default()
                };
                place.piece(said, out);
                place.part("response.content_part.done", &Text::output(text.clone()), out);
                Item::message(digits, self.messages, text)
            }
            Item::Reasoning { .. } if self.told.summarised => {
                let kind = "response.reasoning_summary_text.done";
                let said =
                    Event { r#type: kind, summary_index: Some(0), text: Some(&text), ..Event::default() };
                place.piece(said, out);
                place.part("response.reasoning_summary_part.done", &Text::summary(text.clone()), out);
                Item::reasoning(digits, self.blocks, text, self.told)
            }
            Item::Reasoning { .. } => {
                let kind = "response.reasoning_text.done";
                let said =
                    Event { r#type: kind, content_index: Some(0), text: Some(&text), ..Event::default() };
                place.piece(said, out);
                place.part("response.content_part.done", &Text::reasoning(text.clone()), out);
                Item::reasoning(digits, self.blocks, text, self.told)
            }
            Item::FunctionCall { id, call_id, name, .. } => {
                let kind = "response.function_call_arguments.done";
                let said =
                    Event { r#type: kind, name: Some(name), arguments: Some(&text), ..Event::default() };
                place.piece(said, out);
                let (id, call_id, name) = (id.clone(), call_id.clone(), name.clone());
                Item::FunctionCall { id, call_id, name, arguments: text, status: COMPLETED }
            }
        };
        let mut done = done;
        cut(std::slice::from_mut(&mut done), finish);
        self.blocks += usize::from(matches!(done, Item::Reasoning { .. }));
        self.messages += usize::from(matches!(done, Item::Message { .. }));
        place.tell(Event { r#type: "response.output_item.done", item: Some(&done), ..Event::default() }, out);
        self.items.push(done);
    }
}

/// Where events of one item belong.
struct Place<'a> {
    output: usize,
    id: &'a str,
    number: &'a mut u64,
}

impl Place<'_> {
    /// An event about the item as a whole.
    fn tell(&mut self, event: Event<'_>, out: &mut Vec<Frame>) {
        let event = Event { output_index: Some(self.output), sequence_number: *self.number, ..event };
        *self.number += 1;
        out.push(Frame::named(event.r#type, &event));
    }

    /// An event within the item.
    fn piece(&mut self, event: Event<'_>, out: &mut Vec<Frame>) {
        let id = self.id;
        self.tell(Event { item_id: Some(id), ..event }, out);
    }

    fn part(&mut self, kind: &'static str, part: &Text, out: &mut Vec<Frame>) {
        let (content_index, summary_index) = match kind.contains("summary") {
            true => (None, Some(0)),
            false => (Some(0), None),
        };
        self.piece(
            Event { r#type: kind, part: Some(part), content_index, summary_index, ..Event::default() },
            out,
        );
    }
}
