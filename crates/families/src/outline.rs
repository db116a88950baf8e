//! How a turn is laid out as text, for an engine that holds replies to a form.
//!
//! The invariant: what is laid out here is what a model of the family writes and what its parser reads. Where that
//! cannot be said as text (a mark that is a control token, which no engine's grammar can ask for; arguments that are no
//! JSON) nothing is laid out.

use verbatim_tokenizer::Tokenizer;

use crate::parser::calls::CallFormat;
use crate::parser::{Grammar, newlines};
use verbatim_chat::StartState;

/// A turn's layout.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What comes before what is said.
    pub thought: Thought,
    /// How calls are written, where that can be said.
    pub calls: Option<CallLayout>,
}

/// What comes before what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thought {
    /// Nothing.
    Nothing,
    /// Reasoning up to and with this text: the prompt opened its block.
    Opened {
        /// What closes it.
        close: String,
        /// What then stands before what is said.
        after: String,
    },
    /// Reasoning between these, or none.
    May {
        /// What opens it.
        open: String,
        /// What closes it.
        close: String,
        /// What then stands before what is said.
        after: String,
    },
    /// It cannot be said as text.
    Unsaid,
}

/// How calls are written whose arguments are JSON.
#[derive(Clone, Debug)]
pub struct CallLayout {
    format: &'static dyn CallFormat,
    /// What stands between two calls; `None` where a turn has one.
    pub between: Option<String>,
}

impl CallLayout {
    /// What stands before and after the arguments of a call to `name`; `None` for a name that cannot be written.
    pub fn around(&self, name: &str) -> Option<(String, String)> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(plain) {
            return None;
        }
        let (before, after) = self.format.around(name)?;
        let (open, close) = (self.format.opener(""), self.format.marks().1);
        Some((format!("{open}{before}"), format!("{after}{close}")))
    }
}

impl Outline {
    /// Where nothing can be said.
    pub(crate) const UNSAID: Self = Self { thought: Thought::Unsaid, calls: None };

    /// Of a turn that begins in `start`, where the model may think if it `thinks`.
    pub(crate) fn new(grammar: &Grammar, tokenizer: &dyn Tokenizer, start: StartState, thinks: bool) -> Self {
        let control: Vec<String> =
            tokenizer.added().into_iter().filter(|added| added.control).map(|added| added.spelling).collect();
        let sayable =
            |text: &str| !control.iter().any(|token| !token.is_empty() && text.contains(token.as_str()));
        let thought = match (grammar.thinking, start) {
            (None, _) => Thought::Nothing,
            (Some(_), StartState::Content) if !thinks => Thought::Nothing,
            (Some(thinking), _) if !sayable(thinking.open) || !sayable(thinking.close) => Thought::Unsaid,
            (Some(thinking), start) => {
                let close = thinking.close.to_owned();
                let after =
                    newlines(if thinking.always_after { thinking.after_close } else { 0 }).into_owned();
                match start {
                    StartState::Reasoning => Thought::Opened { close, after },
                    StartState::Content => {
                        let open = format!("{}{}", thinking.open, newlines(thinking.after_open));
                        Thought::May { open, close, after }
                    }
                }
            }
        };
        let calls = grammar.calling.and_then(|calling| {
            let layout = CallLayout {
                format: calling.format,
                between: (!calling.format.is_single() && !calling.format.is_block())
                    .then(|| newlines(calling.gaps.between).into_owned()),
            };
            let (before, after) = layout.around("f")?;
            (calling.gaps.alone == 0 && sayable(&before) && sayable(&after)).then_some(layout)
        });
        Self { thought, calls }
    }
}
