//! What a format's marks are called and how they are found.

use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

/// A border inside a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A think block opens.
    ThinkOpen,
    /// It closes.
    ThinkClose,
    /// A call opens.
    CallOpen,
    /// It closes.
    CallClose,
}

impl Mark {
    /// How it is spelled. Qwen's formats and Hermes' agree.
    pub(crate) fn spelling(self) -> &'static str {
        match self {
            Self::ThinkOpen => "<think>",
            Self::ThinkClose => "</think>",
            Self::CallOpen => "<tool_call>",
            Self::CallClose => "</tool_call>",
        }
    }

    /// Whether it belongs to a call.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::CallOpen | Self::CallClose)
    }
}

/// Parsers of reasoning, by SGLang's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReasoningParser {
    /// There is no reasoning.
    #[default]
    None,
    /// `<think>`, a newline, reasoning, a newline, `</think>`, two newlines.
    Qwen3,
}

/// Parsers of tool calls, by SGLang's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallParser {
    /// There are no calls.
    #[default]
    None,
    /// A JSON object with `name` and `arguments` between `<tool_call>` and `</tool_call>`.
    Hermes,
}

/// The marks of a format over one vocabulary.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// Marks that are single tokens. Where a mark is one, its spelled-out text is no mark.
    pub(crate) ids: Vec<(TokenId, Mark)>,
    /// Marks that the vocabulary has no token for.
    pub(crate) texts: Vec<Mark>,
    /// Tokens that end a turn and say nothing.
    pub(crate) stop: Vec<TokenId>,
}

impl Grammar {
    pub(crate) fn new(
        tokenizer: &dyn Tokenizer,
        stop: &[TokenId],
        reasoning: ReasoningParser,
        calls: CallParser,
    ) -> Self {
        let mut marks = Vec::new();
        if reasoning == ReasoningParser::Qwen3 {
            marks.extend([Mark::ThinkOpen, Mark::ThinkClose]);
        }
        if calls == CallParser::Hermes {
            marks.extend([Mark::CallOpen, Mark::CallClose]);
        }
        let mut grammar = Self { ids: Vec::new(), texts: Vec::new(), stop: stop.to_vec() };
        for mark in marks {
            match tokenizer.special(mark.spelling()) {
                Some(id) => grammar.ids.push((id, mark)),
                None => grammar.texts.push(mark),
            }
        }
        grammar
    }
}
