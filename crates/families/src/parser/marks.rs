//! Finding marks in text that arrives in pieces.
//!
//! The invariant: what could still become a mark waits; nothing else does.

use super::feed::Piece;
use super::grammar::Mark;

/// A search for marks that the vocabulary has no tokens for.
#[derive(Debug)]
pub(super) struct TextMarks {
    marks: Vec<(&'static str, Mark)>,
    /// With which characters they begin.
    firsts: Vec<char>,
    /// The beginning of a mark: shorter than the longest spelling.
    held: String,
}

impl TextMarks {
    pub(super) fn new(marks: Vec<(&'static str, Mark)>) -> Self {
        let firsts = marks.iter().filter_map(|(spelling, _)| spelling.chars().next()).collect();
        Self { marks, firsts, held: String::new() }
    }

    /// Takes more text over.
    pub(super) fn push(&mut self, text: &str, out: &mut dyn FnMut(Piece<'_>)) {
        if self.marks.is_empty() {
            return emit(text, out);
        }
        let mut whole = std::mem::take(&mut self.held);
        whole.push_str(text);
        let mut done = 0;
        let mut at = 0;
        while let Some(found) = whole[at..].find(self.firsts.as_slice()) {
            at += found;
            let rest = &whole[at..];
            if let Some((spelling, mark)) = self.marks.iter().find(|(spelling, _)| rest.starts_with(spelling))
            {
                emit(&whole[done..at], out);
                out(Piece::Mark(*mark));
                at += spelling.len();
                done = at;
            } else if self.marks.iter().any(|(spelling, _)| spelling.starts_with(rest)) {
                self.held = rest.to_owned();
                return emit(&whole[done..at], out);
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        emit(&whole[done..], out);
    }

    /// Lets go of what was waiting: it became no mark.
    pub(super) fn flush(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        emit(&std::mem::take(&mut self.held), out);
    }
}

fn emit(text: &str, out: &mut dyn FnMut(Piece<'_>)) {
    if !text.is_empty() {
        out(Piece::Text(text));
    }
}
