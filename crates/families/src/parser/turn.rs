//! The state machine of a turn.
//!
//! The invariant: newlines that the family's template puts around reasoning, content and calls are
//! left out exactly where it would put them again; every other character is kept.

use verbatim_chat::{Content, Message, Role, StartState, ToolCall};

use super::feed::Piece;
use super::grammar::Mark;
use super::pending::Pending;
use crate::{Flaw, Parsed, Part};

/// Where the turn is.
#[derive(Debug)]
enum At {
    /// Inside a think block; `fresh` until its first character.
    Reasoning { fresh: bool },
    /// Outside.
    Content,
    /// Inside a call.
    Call(Pending),
}

/// A turn as far as it was read.
#[derive(Debug)]
pub(super) struct Turn {
    at: At,
    pub(super) call_prefix: String,
    pub(super) reasoning: String,
    pub(super) content: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) flaws: Vec<Flaw>,
    /// A newline that is content only if no border follows it.
    pub(super) newline: bool,
    /// After a think block: how many of its two newlines are still expected.
    pub(super) lead: usize,
    /// Whether a think block can no longer open: there was one, or something was said.
    pub(super) begun: bool,
    /// How many parts were told in earlier steps: those are the caller's and stay as they are.
    pub(super) told: usize,
}

impl Turn {
    pub(super) fn new(start: StartState, call_prefix: &str) -> Self {
        let thinking = start == StartState::Reasoning;
        Self {
            at: if thinking { At::Reasoning { fresh: false } } else { At::Content },
            call_prefix: call_prefix.to_owned(),
            reasoning: String::new(),
            content: String::new(),
            calls: Vec::new(),
            flaws: Vec::new(),
            newline: false,
            lead: 0,
            begun: thinking,
            told: 0,
        }
    }

    /// Begins a step that appends to `out`.
    pub(super) fn begin(&mut self, out: &[Part]) {
        self.told = out.len();
    }

    pub(super) fn take(&mut self, piece: Piece<'_>, out: &mut Vec<Part>) {
        match (&mut self.at, piece) {
            (At::Reasoning { fresh }, Piece::Text(text)) => {
                let text = if std::mem::take(fresh) { text.strip_prefix('\n').unwrap_or(text) } else { text };
                self.think(text, out);
            }
            (At::Reasoning { .. }, Piece::Mark(Mark::ThinkClose)) => {
                (self.at, self.newline, self.lead) = (At::Content, false, 2);
            }
            (At::Reasoning { fresh }, Piece::Mark(mark)) => {
                *fresh = false;
                self.think(mark.spelling(), out);
            }
            (At::Content, Piece::Text(text)) => self.said(text, out),
            (At::Content, Piece::Mark(Mark::ThinkOpen)) if !self.begun => {
                self.settle(out);
                (self.at, self.begun) = (At::Reasoning { fresh: true }, true);
            }
            (At::Content, Piece::Mark(Mark::CallOpen)) => {
                self.begun = true;
                self.lead_ends(out);
                self.at = At::Call(Pending::default());
            }
            (At::Content, Piece::Mark(mark)) => self.said(mark.spelling(), out),
            (At::Call(pending), Piece::Text(text)) => pending.text(text),
            (At::Call(pending), Piece::Mark(mark)) if pending.in_string() || !mark.is_call() => {
                pending.mark(mark)
            }
            (At::Call(pending), Piece::Mark(mark)) => {
                let pending = std::mem::take(pending);
                self.at = At::Content;
                if mark == Mark::CallClose {
                    self.close(&pending.text, out);
                } else {
                    // Another call begins where this one should have ended.
                    self.flaws.push(Flaw::CallMalformed);
                    self.unread(&pending.text, out);
                    self.at = At::Call(Pending::default());
                }
            }
        }
    }

    pub(super) fn finish(mut self, out: &mut Vec<Part>) -> Parsed {
        while let At::Call(pending) = &mut self.at {
            let pending = std::mem::take(pending);
            self.at = At::Content;
            match pending.cut().filter(|_| pending.in_string()) {
                // A string that never closed hid the end of a malformed call, and what came after.
                Some((text, rest)) => {
                    self.close(text, out);
                    rest.into_iter().for_each(|piece| self.take(piece, out));
                }
                None => {
                    self.flaws.push(Flaw::CallOpen);
                    self.unread(&pending.text, out);
                }
            }
        }
        if matches!(self.at, At::Reasoning { .. }) {
            self.flaws.push(Flaw::ReasoningOpen);
            if std::mem::take(&mut self.newline) {
                self.reasoned("\n", out);
            }
        }
        self.lead_ends(out);
        self.settle(out);
        let mut message = Message::new(Role::Assistant, Content::Text(self.content));
        if message.content.text().is_empty() && !self.calls.is_empty() {
            message.content = Content::Absent;
        }
        message.reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        message.tool_calls = self.calls;
        Parsed { message, flaws: self.flaws }
    }
}
