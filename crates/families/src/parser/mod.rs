//! Parsing a sampled turn.
//!
//! The invariant: ids become a stream of text and marks ([`Feed`]), which depends on the ids alone
//! and not on how they were split; a state machine over that stream ([`Turn`]) loses no character:
//! what is no reasoning and no call is content.

pub(crate) mod calls;
pub(crate) mod channels;
mod feed;
mod grammar;
mod marks;
mod pending;
mod text;
mod turn;

use std::sync::Arc;

use verbatim_chat::{StartState, Tool};
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

pub(crate) use grammar::{BARE, Blank, Calling, Gaps, Grammar, QWEN, Thinking, newlines};

use crate::{Parsed, Parser, Part};
use calls::Types;
use feed::Feed;
use turn::Turn;

/// The parser of one turn.
pub(crate) struct TurnParser {
    feed: Feed,
    turn: Turn,
    /// Tokens of reasoning so far.
    reasoning: usize,
}

impl TurnParser {
    /// A parser of a turn that starts in `start`; without `tools`, what looks like a call is
    /// content, and where the prompt has `closed` the think block, so is another one.
    pub(crate) fn new(
        tokenizer: Arc<dyn Tokenizer>,
        grammar: Arc<Grammar>,
        start: StartState,
        tools: &[Tool],
        closed: bool,
        call_prefix: &str,
    ) -> Self {
        let mut turn = Turn::new(Arc::clone(&grammar), Types::of(tools), start, call_prefix);
        turn.begun |= closed;
        turn.bare = !tools.is_empty() && grammar.calling.is_some_and(|c| c.format.ends_with_turn());
        Self { feed: Feed::new(tokenizer, grammar, !tools.is_empty()), turn, reasoning: 0 }
    }
}

impl Parser for TurnParser {
    fn push(&mut self, ids: &[TokenId], out: &mut Vec<Part>) {
        self.turn.begin(out);
        for id in ids {
            let before = self.turn.is_reasoning();
            self.feed.push(*id, &mut |piece| self.turn.take(piece, out));
            let reasons = (before || self.turn.is_reasoning()) && !self.feed.stops(*id);
            self.reasoning += usize::from(reasons);
        }
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Part>) -> Parsed {
        self.turn.begin(out);
        self.feed.finish(&mut |piece| self.turn.take(piece, out));
        Parsed { reasoning_tokens: self.reasoning, ..self.turn.finish(out) }
    }
}
