//! What happens to the text of a turn.
//!
//! The invariant: a character goes to reasoning, to content or into a call, in the order in which
//! it came; only a newline that the template would write again is dropped.

use verbatim_chat::{Arguments, ToolCall};

use super::call;
use super::grammar::Mark;
use super::turn::Turn;
use crate::{Flaw, Part};

impl Turn {
    /// Takes reasoning over. A newline at its end waits: it may be the one before the close.
    pub(super) fn think(&mut self, text: &str, out: &mut Vec<Part>) {
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

    pub(super) fn reasoned(&mut self, text: &str, out: &mut Vec<Part>) {
        self.reasoning.push_str(text);
        match out[self.told..].last_mut() {
            Some(Part::Reasoning(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Reasoning(text.to_owned())),
        }
    }

    /// Takes content over. The two newlines after a think block are the template's if both are
    /// there; a newline at the end waits: it may be the one before a call.
    pub(super) fn said(&mut self, text: &str, out: &mut Vec<Part>) {
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
    pub(super) fn lead_ends(&mut self, out: &mut Vec<Part>) {
        if std::mem::take(&mut self.lead) == 1 {
            self.settle(out);
            self.newline = true;
        }
    }

    /// A newline that waited is content.
    pub(super) fn settle(&mut self, out: &mut Vec<Part>) {
        if std::mem::take(&mut self.newline) {
            self.emit("\n", out);
        }
    }

    fn emit(&mut self, text: &str, out: &mut Vec<Part>) {
        self.content.push_str(text);
        match out[self.told..].last_mut() {
            Some(Part::Content(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Content(text.to_owned())),
        }
    }

    /// Ends a call. Only now is it told: before, it could still have become content.
    pub(super) fn close(&mut self, text: &str, out: &mut Vec<Part>) {
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
    pub(super) fn unread(&mut self, text: &str, out: &mut Vec<Part>) {
        self.said(Mark::CallOpen.spelling(), out);
        self.said(text, out);
    }
}
