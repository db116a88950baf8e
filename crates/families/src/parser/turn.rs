//! The state machine of a turn.
//!
//! The invariant: newlines that the family's template puts around reasoning, content and calls are
//! left out exactly where it would put them again; every other character is kept.

use std::sync::Arc;

use verbatim_chat::{Content, Message, Role, StartState, ToolCall};

use super::calls::{Shelter, Types};
use super::feed::Piece;
use super::grammar::{Grammar, Mark};
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
    pub(super) grammar: Arc<Grammar>,
    pub(super) types: Types,
    pub(super) call_prefix: String,
    pub(super) reasoning: String,
    pub(super) content: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) flaws: Vec<Flaw>,
    /// Newlines that are said only if no border follows them.
    pub(super) held: usize,
    /// After a think block: how many of its newlines are still expected, and how many came.
    pub(super) lead: usize,
    pub(super) led: usize,
    /// Whether a think block can no longer open: there was one, or something was said.
    pub(super) begun: bool,
    /// Whether nothing was said since the last call.
    pub(super) after_call: bool,
    /// Whether a turn that begins with `{` can be a call.
    pub(super) bare: bool,
    /// How many parts were told in earlier steps: those are the caller's and stay as they are.
    pub(super) told: usize,
}

impl Turn {
    pub(super) fn new(grammar: Arc<Grammar>, types: Types, start: StartState, call_prefix: &str) -> Self {
        let thinking = start == StartState::Reasoning;
        Self {
            at: if thinking { At::Reasoning { fresh: false } } else { At::Content },
            grammar,
            types,
            call_prefix: call_prefix.to_owned(),
            reasoning: String::new(),
            content: String::new(),
            calls: Vec::new(),
            flaws: Vec::new(),
            held: 0,
            lead: 0,
            led: 0,
            begun: thinking,
            after_call: false,
            bare: false,
            told: 0,
        }
    }

    /// Begins a step that appends to `out`.
    pub(super) fn begin(&mut self, out: &[Part]) {
        self.told = out.len();
    }

    pub(super) fn take(&mut self, piece: Piece<'_>, out: &mut Vec<Part>) {
        let bare = self.bare && self.is_fresh();
        match (&mut self.at, piece) {
            (At::Reasoning { fresh }, Piece::Text(text)) => {
                let own = std::mem::take(fresh) && self.grammar.thinking.is_some_and(|t| t.after_open > 0);
                let text = if own { text.strip_prefix('\n').unwrap_or(text) } else { text };
                self.think(text, out);
            }
            (At::Reasoning { .. }, Piece::Mark(Mark::ThinkClose)) => {
                let lead = self.grammar.thinking.map_or(0, |thinking| thinking.after_close);
                (self.at, self.held, self.lead) = (At::Content, 0, lead);
            }
            (At::Reasoning { fresh }, Piece::Mark(mark)) => {
                *fresh = false;
                self.think(self.grammar.spelling(mark), out);
            }
            (At::Content, Piece::Text(text)) if bare && text.starts_with('{') => {
                let mut pending = Pending::bare(Shelter::JsonString);
                pending.text(text);
                self.at = At::Call(pending);
            }
            (At::Content, Piece::Text(text)) => self.said(text, out),
            (At::Content, Piece::Mark(Mark::ThinkOpen)) if !self.begun => {
                self.settle(out);
                (self.at, self.begun) = (At::Reasoning { fresh: true }, true);
            }
            (At::Content, Piece::Mark(Mark::CallOpen)) => {
                self.begun = true;
                self.lead_ends(out);
                self.at = self.call();
            }
            (At::Content, Piece::Mark(mark)) => self.said(self.grammar.spelling(mark), out),
            (At::Call(pending), Piece::Text(text)) => pending.text(text),
            (At::Call(pending), Piece::Mark(mark)) => {
                if !matches!(mark, Mark::CallOpen | Mark::CallClose) || pending.is_sheltered() {
                    return pending.mark(mark, self.grammar.spelling(mark));
                }
                let At::Call(pending) = std::mem::replace(&mut self.at, At::Content) else { return };
                if pending.is_bare() {
                    // What came before the mark is content, JSON or not.
                    self.said(pending.spelled(), out);
                    self.at = self.call();
                } else if mark == Mark::CallClose {
                    self.close(&pending, pending.len(), out);
                } else if self.grammar.ends_itself() {
                    self.close(&pending, pending.len(), out);
                    self.at = self.call();
                } else {
                    // Another call begins where this one should have ended.
                    self.flaws.push(Flaw::CallMalformed);
                    self.unread(pending.spelled(), out);
                    self.at = self.call();
                }
            }
        }
    }

    /// Whether it is inside its reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.at, At::Reasoning { .. })
    }

    /// Whether nothing came yet.
    fn is_fresh(&self) -> bool {
        self.content.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }

    fn call(&self) -> At {
        let shelter = self.grammar.calling.map_or(Shelter::JsonString, |calling| calling.format.shelter());
        At::Call(Pending::new(shelter))
    }

    pub(super) fn finish(mut self, out: &mut Vec<Part>) -> Parsed {
        while matches!(self.at, At::Call(_)) {
            let At::Call(mut pending) = std::mem::replace(&mut self.at, At::Content) else { break };
            if self.grammar.calling.is_some_and(|calling| calling.format.ends_with_turn()) {
                self.end_with_turn(&pending, out);
                continue;
            }
            let sheltered = pending.is_sheltered();
            match pending.cut().filter(|_| sheltered) {
                // A value that never closed hid the end of a malformed call, and what came after.
                Some((end, rest)) => {
                    self.close(&pending, end, out);
                    rest.into_iter().for_each(|piece| self.take(piece, out));
                }
                None if self.grammar.ends_itself() && self.reads(&pending) => {
                    self.close(&pending, pending.len(), out);
                }
                None => {
                    self.flaws.push(Flaw::CallOpen);
                    self.unread(pending.spelled(), out);
                }
            }
        }
        self.end(out);
        let mut message = Message::new(Role::Assistant, Content::Text(self.content));
        if message.content.text().is_empty() && !self.calls.is_empty() {
            message.content = Content::Absent;
        }
        message.reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        message.tool_calls = self.calls;
        Parsed { message, flaws: self.flaws, reasoning_tokens: 0 }
    }

    /// Settles what was waiting when the turn ended.
    fn end(&mut self, out: &mut Vec<Part>) {
        if matches!(self.at, At::Reasoning { .. }) {
            self.flaws.push(Flaw::ReasoningOpen);
            let held = std::mem::take(&mut self.held);
            self.reasoned(&super::grammar::newlines(held), out);
        }
        self.lead_ends(out);
        if self.after_call {
            self.held -= self.held.min(self.grammar.gaps().last);
        }
        self.settle(out);
    }
}
