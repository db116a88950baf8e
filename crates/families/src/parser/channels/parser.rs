//! Reading a turn of messages.

use std::sync::Arc;

use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_tokenizer::{Tokenizer, Utf8Stream};
use verbatim_tokens::TokenId;

use super::{Channels, Kind};
use crate::{Flaw, Parsed, Parser, Part};

/// A token that cuts.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Start,
    Opener(usize),
    Inner,
    End,
    /// It ends the turn, and with it the message.
    Stop,
}

/// The tokens that cut, over one vocabulary.
#[derive(Debug, Default)]
pub(crate) struct Cuts(Vec<(TokenId, Cut)>);

impl Cuts {
    pub(crate) fn new(format: &dyn Channels, stop: &[TokenId], tokenizer: &dyn Tokenizer) -> Self {
        let openers = format.openers().iter().enumerate().map(|(nth, token)| (*token, Cut::Opener(nth)));
        let inner = format.inner().iter().map(|token| (*token, Cut::Inner));
        let frame = [(format.start(), Cut::Start), (format.end(), Cut::End)];
        let all = frame.into_iter().chain(openers).chain(inner);
        let known = all.filter_map(|(token, cut)| Some((tokenizer.special(token)?, cut)));
        Self(stop.iter().map(|id| (*id, Cut::Stop)).chain(known).collect())
    }

    fn get(&self, id: TokenId) -> Option<Cut> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, cut)| *cut)
    }
}

/// Where the turn is.
#[derive(Debug)]
enum At {
    /// Before a message's opener; with the token that began it, if one did.
    Header { text: String, started: bool },
    /// Inside a message. `frame` is what stood before the text of a call, which waits.
    Body { kind: Kind, header: String, frame: String, text: String },
}

const BEGINNING: At = At::Header { text: String::new(), started: false };

/// The parser of one turn.
pub(crate) struct ChannelParser {
    format: &'static dyn Channels,
    tokenizer: Arc<dyn Tokenizer>,
    cuts: Arc<Cuts>,
    prefix: String,
    utf8: Utf8Stream,
    at: At,
    reasoning: String,
    content: String,
    calls: Vec<ToolCall>,
    flaws: Vec<Flaw>,
    /// Tokens of reasoning so far.
    reasons: usize,
    /// How many parts were told in earlier steps.
    told: usize,
}

impl ChannelParser {
    pub(crate) fn new(
        format: &'static dyn Channels,
        tokenizer: Arc<dyn Tokenizer>,
        cuts: Arc<Cuts>,
        prefix: &str,
    ) -> Self {
        Self {
            format,
            tokenizer,
            cuts,
            prefix: prefix.to_owned(),
            utf8: Utf8Stream::default(),
            at: BEGINNING,
            reasoning: String::new(),
            content: String::new(),
            calls: Vec::new(),
            flaws: Vec::new(),
            reasons: 0,
            told: 0,
        }
    }

    fn is_reasoning(&self) -> bool {
        matches!(self.at, At::Body { kind: Kind::Reasoning, .. })
    }

    fn take(&mut self, id: TokenId, out: &mut Vec<Part>) {
        let mut text = String::new();
        let Some(cut) = self.cuts.get(id) else {
            self.utf8.push(self.tokenizer.bytes(id), &mut text);
            return self.text(&text, out);
        };
        self.utf8.finish(&mut text);
        self.text(&text, out);
        let spelled = String::from_utf8_lossy(self.tokenizer.bytes(id)).into_owned();
        match (std::mem::replace(&mut self.at, BEGINNING), cut) {
            (At::Header { text, started: false }, Cut::Start) if text.is_empty() => {
                self.at = At::Header { text, started: true };
            }
            (At::Header { text, started }, Cut::Start) => {
                self.stray(&text, started, out);
                self.at = At::Header { text: String::new(), started: true };
            }
            (At::Header { text, started }, Cut::Opener(nth)) => self.open(&text, started, nth, &spelled, out),
            (At::Header { text, started }, Cut::Inner) => {
                self.at = At::Header { text: text + &spelled, started };
            }
            (At::Header { text, started }, Cut::End) => self.stray(&(text + &spelled), started, out),
            (At::Header { text, started }, Cut::Stop) => self.stray(&text, started, out),
            (At::Body { kind: Kind::Call, header, frame, text }, Cut::End | Cut::Stop) => {
                let call = self.format.read(&header, &text);
                match call {
                    Some(call) => {
                        let index = self.calls.len();
                        let id = call.id.unwrap_or_else(|| format!("{}{index}", self.prefix));
                        out.push(Part::CallStarted { index, id: id.clone(), name: call.name.clone() });
                        out.push(Part::CallArguments { index, text: call.arguments.clone() });
                        out.push(Part::CallEnded { index });
                        let arguments = Arguments::Text(call.arguments);
                        self.calls.push(ToolCall { id: Some(id), name: call.name, arguments });
                    }
                    None => {
                        self.flaws.push(Flaw::CallMalformed);
                        let end = if matches!(cut, Cut::End) { spelled.as_str() } else { "" };
                        self.said(&(frame + &text + end), out);
                    }
                }
            }
            (At::Body { .. }, Cut::End | Cut::Stop) => {}
            (body @ At::Body { .. }, _) => {
                self.at = body;
                self.text(&spelled, out);
            }
        }
    }

    /// Begins a message. One that is nothing known is content, its header with it.
    fn open(&mut self, header: &str, started: bool, nth: usize, opener: &str, out: &mut Vec<Part>) {
        let kind = self.format.kind(header, nth);
        let frame = format!("{}{header}{opener}", if started { self.format.start() } else { "" });
        if kind.is_none() {
            self.broken(header);
            self.said(&frame, out);
        }
        let kind = kind.unwrap_or(Kind::Content);
        self.at = At::Body { kind, header: header.to_owned(), frame, text: String::new() };
    }

    /// Flags a header that was meant to call and does not.
    fn broken(&mut self, header: &str) {
        self.flaws.extend(self.format.meant_to_call(header).then_some(Flaw::CallMalformed));
    }

    /// What is no message is content.
    fn stray(&mut self, text: &str, started: bool, out: &mut Vec<Part>) {
        self.broken(text);
        if started {
            self.said(self.format.start(), out);
        }
        self.said(text, out);
    }

    fn text(&mut self, text: &str, out: &mut Vec<Part>) {
        match &mut self.at {
            At::Header { text: header, .. } => header.push_str(text),
            At::Body { kind: Kind::Call, text: body, .. } => body.push_str(text),
            At::Body { kind: Kind::Content, .. } => self.said(text, out),
            At::Body { kind: Kind::Reasoning, .. } => {
                self.reasoning.push_str(text);
                match out[self.told..].last_mut() {
                    Some(Part::Reasoning(last)) => last.push_str(text),
                    _ if text.is_empty() => {}
                    _ => out.push(Part::Reasoning(text.to_owned())),
                }
            }
        }
    }

    fn said(&mut self, text: &str, out: &mut Vec<Part>) {
        self.content.push_str(text);
        match out[self.told..].last_mut() {
            Some(Part::Content(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Content(text.to_owned())),
        }
    }
}

impl Parser for ChannelParser {
    fn push(&mut self, ids: &[TokenId], out: &mut Vec<Part>) {
        self.told = out.len();
        for id in ids {
            let before = self.is_reasoning();
            self.take(*id, out);
            let reasons = before || self.is_reasoning();
            self.reasons += usize::from(reasons && !matches!(self.cuts.get(*id), Some(Cut::Stop)));
        }
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Part>) -> Parsed {
        self.told = out.len();
        let mut text = String::new();
        self.utf8.finish(&mut text);
        self.text(&text, out);
        match std::mem::replace(&mut self.at, BEGINNING) {
            At::Header { text, started } => self.stray(&text, started, out),
            At::Body { kind: Kind::Reasoning, .. } => self.flaws.push(Flaw::ReasoningOpen),
            At::Body { kind: Kind::Content, .. } => {}
            At::Body { kind: Kind::Call, frame, text, .. } => {
                self.flaws.push(Flaw::CallOpen);
                self.said(&(frame + &text), out);
            }
        }
        let mut message = Message::new(Role::Assistant, Content::Text(self.content));
        if message.content.text().is_empty() && !self.calls.is_empty() {
            message.content = Content::Absent;
        }
        message.reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        message.tool_calls = self.calls;
        Parsed { message, flaws: self.flaws, reasoning_tokens: self.reasons }
    }
}
