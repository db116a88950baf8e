//! What happens to the text of a turn.
//!
//! The invariant: a character goes to reasoning, to content or into a call, in the order in which
//! it came; only newlines that the template would write again are dropped.

use verbatim_chat::{Arguments, ToolCall};

use super::calls::Call;
use super::grammar::{Mark, newlines};
use super::pending::Pending;
use super::turn::Turn;
use crate::{Flaw, Part};

impl Turn {
    /// Takes reasoning over. Newlines at its end wait: they may be those before the close.
    pub(super) fn think(&mut self, text: &str, out: &mut Vec<Part>) {
        let most = self.grammar.thinking.map_or(0, |thinking| thinking.before_close);
        let (before, kept) = self.hold(text, most);
        self.reasoned(&newlines(before), out);
        self.reasoned(kept, out);
    }

    /// Cuts off the newlines at the end that must wait, at most so many. Returns how many of those
    /// that waited are settled, and the text without the new ones.
    fn hold<'t>(&mut self, text: &'t str, most: usize) -> (usize, &'t str) {
        let trailing = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if trailing == text.len() {
            let all = self.held + trailing;
            self.held = all.min(most);
            return (all - self.held, "");
        }
        let before = self.held;
        self.held = trailing.min(most);
        (before, &text[..text.len() - self.held])
    }

    pub(super) fn reasoned(&mut self, text: &str, out: &mut Vec<Part>) {
        self.reasoning.push_str(text);
        match out[self.told..].last_mut() {
            Some(Part::Reasoning(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => out.push(Part::Reasoning(text.to_owned())),
        }
    }

    /// Takes content over. The newlines after a think block are the template's if all of them are
    /// there; newlines at the end wait: they may be those before a call.
    pub(super) fn said(&mut self, text: &str, out: &mut Vec<Part>) {
        let mut text = text;
        while self.lead > 0 {
            match text.strip_prefix('\n') {
                Some(rest) => (text, self.lead, self.led) = (rest, self.lead - 1, self.led + 1),
                None if text.is_empty() => return,
                None => self.lead_ends(out),
            }
        }
        if text.is_empty() {
            return;
        }
        self.begun |= text.contains(|c: char| !c.is_whitespace());
        let (before, kept) = self.hold(text, self.grammar.gaps().most());
        self.emit(&newlines(before), out);
        self.emit(kept, out);
    }

    /// No more newlines of a think block can come: if some are missing, the others were said.
    pub(super) fn lead_ends(&mut self, out: &mut Vec<Part>) {
        if std::mem::take(&mut self.lead) > 0 {
            self.settle(out);
            self.held = std::mem::take(&mut self.led);
        }
    }

    /// Newlines that waited are content.
    pub(super) fn settle(&mut self, out: &mut Vec<Part>) {
        let held = std::mem::take(&mut self.held);
        self.emit(&newlines(held), out);
    }

    fn emit(&mut self, text: &str, out: &mut Vec<Part>) {
        if text.is_empty() {
            return;
        }
        self.after_call = false;
        self.content.push_str(text);
        match out[self.told..].last_mut() {
            Some(Part::Content(last)) => last.push_str(text),
            _ => out.push(Part::Content(text.to_owned())),
        }
    }

    /// Whether all that came is a call.
    pub(super) fn reads(&self, pending: &Pending) -> bool {
        self.read(pending, pending.len()).is_some()
    }

    fn read(&self, pending: &Pending, end: usize) -> Option<Vec<Call>> {
        let format = self.grammar.calling?.format;
        pending.read(end, |body| format.read(body, &self.types))
    }

    /// Ends a call at byte `end` of what came. Only now is it told: before, it could still have
    /// become content.
    pub(super) fn close(&mut self, pending: &Pending, end: usize, out: &mut Vec<Part>) {
        let Some(calls) = self.read(pending, end) else {
            self.flaws.push(Flaw::CallMalformed);
            self.unread(&pending.spelled()[..end], out);
            return self.said(self.grammar.spelling(Mark::CallClose), out);
        };
        self.gap(out);
        self.tell(calls, out);
    }

    /// Ends a call that ends with the turn.
    pub(super) fn end_with_turn(&mut self, pending: &Pending, out: &mut Vec<Part>) {
        let format = self.grammar.calling.map(|calling| calling.format);
        let calls =
            pending.read(pending.len(), |body| format.and_then(|format| format.read(body, &self.types)));
        match calls {
            Some(calls) => self.tell(calls, out),
            // JSON that a turn begins with is an answer, unless it begins as calls do.
            None if pending.is_bare() => {
                let flaw = pending.spelled().starts_with("{\"name\"").then_some(Flaw::CallOpen);
                self.flaws.extend(flaw);
                self.said(pending.spelled(), out);
            }
            None => {
                self.flaws.push(Flaw::CallMalformed);
                self.unread(pending.spelled(), out);
            }
        }
    }

    fn tell(&mut self, calls: Vec<Call>, out: &mut Vec<Part>) {
        for call in calls {
            let index = self.calls.len();
            let id = call.id.unwrap_or_else(|| format!("{}{index}", self.call_prefix));
            out.push(Part::CallStarted { index, id: id.clone(), name: call.name.clone() });
            out.push(Part::CallArguments { index, text: call.arguments.clone() });
            out.push(Part::CallEnded { index });
            let arguments = Arguments::Text(call.arguments);
            self.calls.push(ToolCall { id: Some(id), name: call.name, arguments });
        }
        self.after_call = true;
    }

    /// Drops the newlines that the template puts before a call; those beyond them were said.
    fn gap(&mut self, out: &mut Vec<Part>) {
        let gaps = self.grammar.gaps();
        let own = if self.after_call {
            gaps.between
        } else if self.content.is_empty() {
            // Where the template writes one newline for both, it may have been taken already.
            let shared = self.grammar.thinking.is_some_and(|thinking| !thinking.always_after);
            gaps.alone.saturating_sub(if shared { self.led } else { 0 })
        } else {
            gaps.before_first(&self.content)
        };
        self.held -= self.held.min(own);
        self.settle(out);
    }

    /// What was taken for a call is content.
    pub(super) fn unread(&mut self, text: &str, out: &mut Vec<Part>) {
        self.said(self.grammar.spelling(Mark::CallOpen), out);
        self.said(text, out);
    }
}
