//! Cutting a rendered text at the special tokens it spells.
//!
//! The invariant: the pieces, spelled out, are the text (whitespace apart that a token is declared
//! to swallow); of two tokens that could begin at one place the longer wins, as in the tokenizers
//! that models were trained with.

use aho_corasick::{AhoCorasick, MatchKind};
use verbatim_tokens::TokenId;

use crate::{Added, Tokenizer};

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Text that spells no special token.
    Text(&'t str),
    /// A special token.
    Special(TokenId),
}

/// Finds the added tokens of one vocabulary in text.
///
/// For templates that come as text; whatever knows its special tokens as ids has no need of it.
#[derive(Clone, Debug)]
pub struct SpecialSplitter {
    /// `None` where the vocabulary has no added token, or too many to search for.
    automaton: Option<AhoCorasick>,
    added: Vec<Added>,
}

impl SpecialSplitter {
    /// Searches for every added token of `tokenizer` that `wanted` accepts.
    pub fn new(tokenizer: &dyn Tokenizer, wanted: impl Fn(&Added) -> bool) -> Self {
        let mut added = tokenizer.added();
        added.retain(|token| !token.spelling.is_empty() && wanted(token));
        let spellings = added.iter().map(|token| &token.spelling);
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(spellings).ok();
        Self { automaton: automaton.filter(|_| !added.is_empty()), added }
    }

    /// Cuts `text`. Empty stretches of text are left out.
    pub fn split<'t>(&self, text: &'t str) -> Vec<Piece<'t>> {
        self.split_at(text).into_iter().map(|(_, piece)| piece).collect()
    }

    /// Cuts `text` and says at which byte each piece begins.
    pub fn split_at<'t>(&self, text: &'t str) -> Vec<(usize, Piece<'t>)> {
        let mut pieces = Vec::new();
        let mut done = 0;
        for found in self.automaton.iter().flat_map(|automaton| automaton.find_iter(text)) {
            let token = &self.added[found.pattern().as_usize()];
            let before = text.get(done..found.start()).unwrap_or_default();
            let before = if token.lstrip { before.trim_end() } else { before };
            if !before.is_empty() {
                pieces.push((done, Piece::Text(before)));
            }
            pieces.push((found.start(), Piece::Special(token.id)));
            let rest = &text[found.end()..];
            done = found.end() + if token.rstrip { rest.len() - rest.trim_start().len() } else { 0 };
        }
        let rest = text.get(done..).unwrap_or_default();
        if !rest.is_empty() {
            pieces.push((done, Piece::Text(rest)));
        }
        pieces
    }

    /// The ids of a text in which these tokens are tokens.
    pub fn encode(&self, tokenizer: &dyn Tokenizer, text: &str) -> Vec<TokenId> {
        let mut ids = Vec::new();
        for piece in self.split(text) {
            match piece {
                Piece::Text(text) => tokenizer.encode(text, &mut ids),
                Piece::Special(id) => ids.push(id),
            }
        }
        ids
    }

    /// Every place where `text` spells a token, as byte ranges, in order.
    pub fn spelled(&self, text: &str) -> Vec<(std::ops::Range<usize>, TokenId)> {
        let found = self.automaton.iter().flat_map(|automaton| automaton.find_iter(text));
        found.map(|found| (found.range(), self.added[found.pattern().as_usize()].id)).collect()
    }
}
