//! Parsing a sampled turn.
//!
//! The invariant: ids become a stream of text and marks ([`Feed`]), which depends on the ids alone
//! and not on how they were split; a state machine over that stream ([`Turn`]) loses no character:
//! what is no reasoning and no call is content.

mod call;
mod feed;
mod grammar;
mod marks;
mod pending;
mod text;
mod turn;

use std::sync::Arc;

use verbatim_chat::StartState;
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

pub(crate) use grammar::{CallParser, Grammar, ReasoningParser};

use crate::{Parsed, Parser, Part};
use feed::Feed;
use turn::Turn;

/// The parser of one turn.
pub(crate) struct TurnParser {
    feed: Feed,
    turn: Turn,
}

impl TurnParser {
    /// A parser of a turn that starts in `start`; without `calls`, what looks like a call is
    /// content.
    pub(crate) fn new(
        tokenizer: Arc<dyn Tokenizer>,
        grammar: Arc<Grammar>,
        start: StartState,
        calls: bool,
        call_prefix: &str,
    ) -> Self {
        Self { feed: Feed::new(tokenizer, grammar, calls), turn: Turn::new(start, call_prefix) }
    }
}

impl Parser for TurnParser {
    fn push(&mut self, ids: &[TokenId], out: &mut Vec<Part>) {
        self.turn.begin(out);
        for id in ids {
            self.feed.push(*id, &mut |piece| self.turn.take(piece, out));
        }
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Part>) -> Parsed {
        self.turn.begin(out);
        self.feed.finish(&mut |piece| self.turn.take(piece, out));
        self.turn.finish(out)
    }
}
