//! The state machine of a turn.
//!
//! The invariant: newlines that the family's template puts around reasoning, content and calls are
//! left out exactly where it would put them again; every other character is kept.

use verbatim_chat::{Arguments, Content, Message, Role, StartState, ToolCall};

use super::call;
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
    call_prefix: String,
    reasoning: String,
    content: String,
    calls: Vec<ToolCall>,
    flaws: Vec<Flaw>,
    /// A newline that is content only if no border follows it.
    newline: bool,
    /// After a think block: how many of its two newlines are still expected.
    lead: usize,
    /// Whether a think block can no longer open: there was one, or something was said.
    begun: bool,
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
        }
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

/// What happens to text.
impl Turn {
    /// Takes reasoning over. A newline at its end waits: it may be the one before the close.
    fn think(&mut self, text: &str, out: &mut Vec<Part>) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.newline) {
            self.reasoned("\n", out);
        }
        let kept = text.strip_suffix('\n');
        self.newline = kept.is_some();
        self.reasoned(kept.unwrap_or(text), out);
    }

    fn reasoned(&mut self, text: &str, out: &mut Vec<Part>) {
        self.reasoning.push_str(text);
        match out.last_mut() {
            Some(Part::Reasoning(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Reasoning(text.to_owned())),
        }
    }

    /// Takes content over. The two newlines after a think block are the template's if both are
    /// there; a newline at the end waits: it may be the one before a call.
    fn said(&mut self, text: &str, out: &mut Vec<Part>) {
        let mut text = text;
        while self.lead > 0 {
            match text.strip_prefix('\n') {
                Some(rest) => (text, self.lead) = (rest, self.lead - 1),
                None if text.is_empty() => return,
                None => self.lead_ends(out),
            }
        }
        if text.is_empty() {
            return;
        }
        self.settle(out);
        self.begun |= text.contains(|c: char| !c.is_whitespace());
        let kept = text.strip_suffix('\n');
        self.newline = kept.is_some();
        self.emit(kept.unwrap_or(text), out);
    }

    /// No more newlines of a think block can come: if only one came, it was said.
    fn lead_ends(&mut self, out: &mut Vec<Part>) {
        if std::mem::take(&mut self.lead) == 1 {
            self.settle(out);
            self.newline = true;
        }
    }

    /// A newline that waited is content.
    fn settle(&mut self, out: &mut Vec<Part>) {
        if std::mem::take(&mut self.newline) {
            self.emit("\n", out);
        }
    }

    fn emit(&mut self, text: &str, out: &mut Vec<Part>) {
        self.content.push_str(text);
        match out.last_mut() {
            Some(Part::Content(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Content(text.to_owned())),
        }
    }

    /// Ends a call. Only now is it told: before, it could still have become content.
    fn close(&mut self, text: &str, out: &mut Vec<Part>) {
        let Some(call) = call::read(text) else {
            self.flaws.push(Flaw::CallMalformed);
            self.unread(text, out);
            return self.said(Mark::CallClose.spelling(), out);
        };
        // Before a call the template puts a newline, unless nothing came before it.
        if self.content.is_empty() && self.calls.is_empty() {
            self.settle(out);
        }
        self.newline = false;
        let index = self.calls.len();
        let id = format!("{}{index}", self.call_prefix);
        out.push(Part::CallStarted { index, id: id.clone(), name: call.name.clone() });
        out.push(Part::CallArguments { index, text: call.arguments.clone() });
        out.push(Part::CallEnded { index });
        self.calls.push(ToolCall {
            id: Some(id),
            name: call.name,
            arguments: Arguments::Text(call.arguments),
        });
    }

    /// What was taken for a call is content.
    fn unread(&mut self, text: &str, out: &mut Vec<Part>) {
        self.said(Mark::CallOpen.spelling(), out);
        self.said(text, out);
    }
}
