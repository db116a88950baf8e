//! Ids to text and marks.
//!
//! The invariant: the stream depends on the ids, never on how they were split; a mark that is a
//! token is found by its id and cannot be forged by text.

use std::sync::Arc;

use verbatim_tokenizer::{Tokenizer, Utf8Stream};
use verbatim_tokens::TokenId;

use super::grammar::{Grammar, Mark};
use super::marks::TextMarks;

/// A piece of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text, never empty.
    Text(&'t str),
    /// A border.
    Mark(Mark),
}

/// The way from ids to pieces.
pub(super) struct Feed {
    tokenizer: Arc<dyn Tokenizer>,
    grammar: Arc<Grammar>,
    calls: bool,
    utf8: Utf8Stream,
    texts: TextMarks,
    /// Text on its way, kept for its allocation.
    scratch: String,
}

impl Feed {
    pub(super) fn new(tokenizer: Arc<dyn Tokenizer>, grammar: Arc<Grammar>, calls: bool) -> Self {
        let wanted = grammar.texts.iter().copied().filter(|(_, mark)| calls || !mark.is_call());
        let texts = TextMarks::new(wanted.collect());
        Self { tokenizer, grammar, calls, utf8: Utf8Stream::default(), texts, scratch: String::new() }
    }

    pub(super) fn push(&mut self, id: TokenId, out: &mut dyn FnMut(Piece<'_>)) {
        if self.stops(id) {
            return;
        }
        let mark = self.grammar.ids.iter().find(|(known, _)| *known == id).map(|(_, mark)| *mark);
        if let Some(mark) = mark.filter(|mark| self.calls || !mark.is_call()) {
            self.finish(out);
            return out(Piece::Mark(mark));
        }
        self.scratch.clear();
        self.utf8.push(self.tokenizer.bytes(id), &mut self.scratch);
        self.texts.push(&self.scratch, out);
    }

    /// Whether a token ends the turn and says nothing.
    pub(super) fn stops(&self, id: TokenId) -> bool {
        self.grammar.stop.contains(&id)
    }

    /// Lets go of what was waiting for more.
    pub(super) fn finish(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        self.scratch.clear();
        self.utf8.finish(&mut self.scratch);
        self.texts.push(&self.scratch, out);
        self.texts.flush(out);
    }
}
