//! A call that has not ended.
//!
//! The invariant: until a call is known to be one, all of it is kept, marks and their places
//! included, so that it can become content again without a character lost.

use super::calls::Shelter;
use super::feed::Piece;
use super::grammar::Mark;

/// What stands between a call's marks: text that spells out the marks in it, and their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'b> {
    /// The text.
    pub(crate) text: &'b str,
    /// Where marks stand in it.
    pub(crate) marks: &'b [(usize, Mark)],
}

/// What came after a call's opening mark.
#[derive(Debug)]
pub(super) struct Pending {
    text: String,
    marks: Vec<(usize, &'static str, Mark)>,
    shelter: Shelter,
    /// Whether the text so far ends inside a value.
    sheltered: bool,
    escaped: bool,
    /// For texts that are looked for: up to where that was done.
    sought: usize,
    /// Whether no mark opened it.
    bare: bool,
}

impl Pending {
    pub(super) fn new(shelter: Shelter) -> Self {
        let (text, marks) = (String::new(), Vec::new());
        Self { text, marks, shelter, sheltered: false, escaped: false, sought: 0, bare: false }
    }

    /// One that no mark opened.
    pub(super) fn bare(shelter: Shelter) -> Self {
        Self { bare: true, ..Self::new(shelter) }
    }

    /// Whether no mark opened it.
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    /// Takes text over and follows JSON's strings through it.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
        if self.shelter != Shelter::JsonString {
            return;
        }
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.sheltered => self.escaped = true,
                b'"' => self.sheltered = !self.sheltered,
                _ => {}
            }
        }
    }

    /// Takes over a mark that is part of the call.
    pub(super) fn mark(&mut self, mark: Mark, spelling: &'static str) {
        self.marks.push((self.text.len(), spelling, mark));
        self.text.push_str(spelling);
        self.escaped = false;
        if let Shelter::Inner(open, close) = self.shelter {
            match mark {
                Mark::Inner(nth) if nth == open => self.sheltered = true,
                Mark::Inner(nth) if nth == close => self.sheltered = false,
                _ => {}
            }
        }
    }

    /// Whether a mark here would be part of a value.
    pub(super) fn is_sheltered(&mut self) -> bool {
        if let Shelter::Between(open, close) = self.shelter {
            loop {
                let wanted = if self.sheltered { close } else { open }.as_bytes();
                let rest = &self.text.as_bytes()[self.sought..];
                let Some(at) = rest.windows(wanted.len()).position(|window| window == wanted) else {
                    // Its beginning may be here already.
                    self.sought = self.sought.max((self.text.len() + 1).saturating_sub(wanted.len()));
                    break;
                };
                self.sought += at + wanted.len();
                self.sheltered = !self.sheltered;
            }
        }
        self.sheltered
    }

    /// All of it.
    pub(super) fn spelled(&self) -> &str {
        &self.text
    }

    /// Hands what stands before byte `end` to a reader.
    pub(super) fn read<T>(&self, end: usize, reader: impl FnOnce(Body<'_>) -> T) -> T {
        let marks: Vec<(usize, Mark)> =
            self.marks.iter().filter(|(at, ..)| *at < end).map(|(at, _, mark)| (*at, *mark)).collect();
        reader(Body { text: &self.text[..end], marks: &marks })
    }

    /// The length of all of it.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// For a call whose value never closed: where the first closing mark inside it stands, and what
    /// followed that mark. `None` where there is no such mark.
    pub(super) fn cut(&self) -> Option<(usize, Vec<Piece<'_>>)> {
        let first = self.marks.iter().position(|(.., mark)| *mark == Mark::CallClose)?;
        let (at, close, _) = self.marks[first];
        let mut rest = Vec::new();
        let mut done = at + close.len();
        for (at, spelling, mark) in &self.marks[first + 1..] {
            rest.extend(Some(&self.text[done..*at]).filter(|text| !text.is_empty()).map(Piece::Text));
            rest.push(Piece::Mark(*mark));
            done = at + spelling.len();
        }
        rest.extend(Some(&self.text[done..]).filter(|text| !text.is_empty()).map(Piece::Text));
        Some((at, rest))
    }
}
