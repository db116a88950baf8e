//! A call that has not ended.
//!
//! The invariant: until a call is known to be one, all of it is kept, marks and their places
//! included, so that it can become content again without a character lost.

use super::feed::Piece;
use super::grammar::Mark;

/// What came after a call's opening mark.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) text: String,
    /// Where marks stand in `text`, which spells them out.
    marks: Vec<(usize, Mark)>,
    in_string: bool,
    escaped: bool,
}

impl Pending {
    /// Takes text over and follows JSON's strings through it.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
    }

    /// Takes over a mark that is part of the call.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.marks.push((self.text.len(), mark));
        self.text.push_str(mark.spelling());
        self.escaped = false;
    }

    /// Whether a mark here would stand inside a JSON string.
    pub(super) fn in_string(&self) -> bool {
        self.in_string
    }

    /// For a call whose string never closed: the text up to the first closing mark inside it, and
    /// what followed that mark. `None` where there is no such mark.
    pub(super) fn cut(&self) -> Option<(&str, Vec<Piece<'_>>)> {
        let first = self.marks.iter().position(|(_, mark)| *mark == Mark::CallClose)?;
        let (at, close) = self.marks[first];
        let mut rest = Vec::new();
        let mut done = at + close.spelling().len();
        for (at, mark) in &self.marks[first + 1..] {
            rest.extend(Some(&self.text[done..*at]).filter(|text| !text.is_empty()).map(Piece::Text));
            rest.push(Piece::Mark(*mark));
            done = at + mark.spelling().len();
        }
        rest.extend(Some(&self.text[done..]).filter(|text| !text.is_empty()).map(Piece::Text));
        Some((&self.text[..at], rest))
    }
}
