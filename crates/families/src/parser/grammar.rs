//! What a format's marks are called, how they are found, and which newlines its template puts
//! around them.
//!
//! The invariant: one table serves the writer of a turn and its reader, so that what one puts in
//! the other takes out.

use std::borrow::Cow;

use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use super::calls::CallFormat;

/// A border inside a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A think block opens.
    ThinkOpen,
    /// It closes.
    ThinkClose,
    /// A call, or a block of calls, opens.
    CallOpen,
    /// It closes.
    CallClose,
    /// A border inside a call: which of the format's.
    Inner(usize),
}

impl Mark {
    /// Whether it belongs to a call.
    pub(crate) fn is_call(self) -> bool {
        !matches!(self, Self::ThinkOpen | Self::ThinkClose)
    }
}

/// How a format sets reasoning apart.
#[derive(Debug)]
pub(crate) struct Thinking {
    /// The opening mark.
    pub(crate) open: &'static str,
    /// The closing mark.
    pub(crate) close: &'static str,
    /// Newlines after the opening mark.
    pub(crate) after_open: usize,
    /// Newlines before the closing mark.
    pub(crate) before_close: usize,
    /// Newlines after the closing mark.
    pub(crate) after_close: usize,
    /// Whether those stand there even where no content follows.
    pub(crate) always_after: bool,
    /// What stands in history for a turn without reasoning; `None` for the block with nothing in it.
    pub(crate) silent: Option<&'static str>,
    /// Whether a turn begins inside the block although its prompt does not say so.
    pub(crate) begun: bool,
}

/// `<think>` and `</think>` alone.
pub(crate) const BARE: Thinking = Thinking {
    open: "<think>",
    close: "</think>",
    after_open: 0,
    before_close: 0,
    after_close: 0,
    always_after: true,
    silent: None,
    begun: false,
};

/// On lines of their own, as Qwen's have been since Qwen3.
pub(crate) const QWEN: Thinking = Thinking { after_open: 1, before_close: 1, after_close: 2, ..BARE };

/// Newlines around calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Between content and the first call.
    pub(crate) first: usize,
    /// Before the first call where there is no content.
    pub(crate) alone: usize,
    /// Between two calls.
    pub(crate) between: usize,
    /// After the last call.
    pub(crate) last: usize,
    /// What content of nothing but whitespace counts as.
    pub(crate) blank: Blank,
}

/// What content of nothing but whitespace counts as, before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Blank {
    /// Content like any other.
    #[default]
    Content,
    /// None.
    Nothing,
    /// Newlines that stand for the gap as well.
    Gap,
}

impl Gaps {
    /// The most newlines that can be the template's.
    pub(super) fn most(&self) -> usize {
        self.first.max(self.alone).max(self.between).max(self.last)
    }

    /// The newlines between content and the first call.
    pub(crate) fn before_first(&self, content: &str) -> usize {
        match self.blank {
            _ if content.is_empty() => self.alone,
            Blank::Nothing if content.trim().is_empty() => self.alone,
            Blank::Gap if content.trim_start_matches('\n').is_empty() => {
                self.first.saturating_sub(content.len())
            }
            _ => self.first,
        }
    }
}

/// How a family writes calls.
#[derive(Debug)]
pub(crate) struct Calling {
    /// The format of one call.
    pub(crate) format: &'static dyn CallFormat,
    /// The newlines around it.
    pub(crate) gaps: Gaps,
}

/// The marks of a format over one vocabulary.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(crate) thinking: Option<&'static Thinking>,
    pub(crate) calling: Option<&'static Calling>,
    /// Marks that are single tokens. Where a mark is one, its spelled-out text is no mark.
    pub(super) ids: Vec<(TokenId, Mark)>,
    /// Marks that the vocabulary has no token for.
    pub(super) texts: Vec<(&'static str, Mark)>,
    /// Tokens that end a turn and say nothing.
    pub(super) stop: Vec<TokenId>,
}

impl Grammar {
    pub(crate) fn new(
        tokenizer: &dyn Tokenizer,
        stop: &[TokenId],
        thinking: Option<&'static Thinking>,
        calling: Option<&'static Calling>,
    ) -> Self {
        let mut grammar = Self { thinking, calling, ids: Vec::new(), texts: Vec::new(), stop: stop.to_vec() };
        let think = thinking.into_iter().flat_map(|t| [Mark::ThinkOpen, Mark::ThinkClose].map(|m| (t, m)));
        let mut marks: Vec<Mark> = think.map(|(_, mark)| mark).collect();
        if let Some(calling) = calling {
            marks.extend([Mark::CallOpen, Mark::CallClose]);
            marks.extend((0..calling.format.inner().len()).map(Mark::Inner));
        }
        for mark in marks {
            let spelling = grammar.spelling(mark);
            if spelling.is_empty() {
                continue;
            }
            match tokenizer.special(spelling) {
                Some(id) => grammar.ids.push((id, mark)),
                None => grammar.texts.push((spelling, mark)),
            }
        }
        grammar
    }

    /// How a mark is spelled.
    pub(crate) fn spelling(&self, mark: Mark) -> &'static str {
        let thinking = self.thinking.unwrap_or(&BARE);
        let (open, close) = self.calling.map_or(("", ""), |calling| calling.format.marks());
        match mark {
            Mark::ThinkOpen => thinking.open,
            Mark::ThinkClose => thinking.close,
            Mark::CallOpen => open,
            Mark::CallClose => close,
            Mark::Inner(nth) => {
                self.calling.and_then(|calling| calling.format.inner().get(nth)).copied().unwrap_or_default()
            }
        }
    }

    /// Whether calls have no closing mark.
    pub(super) fn ends_itself(&self) -> bool {
        self.calling.is_some_and(|calling| calling.format.ends_itself())
    }

    /// Whether a token is one of the marks.
    pub(crate) fn has(&self, id: TokenId) -> bool {
        self.ids.iter().any(|(known, _)| *known == id)
    }

    /// The newlines around calls.
    pub(super) fn gaps(&self) -> Gaps {
        self.calling.map(|calling| calling.gaps).unwrap_or_default()
    }

    /// Whether a turn after this prompt is in the middle of a think block.
    pub(crate) fn is_open(&self, prompt: &str) -> bool {
        let Some(thinking) = self.thinking else { return false };
        let prompt = prompt.trim_end();
        prompt.ends_with(thinking.open) || (thinking.begun && !prompt.ends_with(thinking.close))
    }
}

/// So many newlines.
pub(crate) fn newlines(count: usize) -> Cow<'static, str> {
    match count {
        0 => Cow::Borrowed(""),
        1 => Cow::Borrowed("\n"),
        2 => Cow::Borrowed("\n\n"),
        more => Cow::Owned("\n".repeat(more)),
    }
}
