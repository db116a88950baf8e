//! The formats in which models write calls.
//!
//! The invariant: a format reads what it writes. What it cannot read is no call; nothing is guessed
//! and nothing is evaluated.

mod bare;
mod dsml;
mod hermes;
mod invoke;
mod keyed;
mod kimi;
mod mistral;
mod parameters;
mod types;

pub(crate) use bare::LLAMA;
pub(crate) use dsml::{DSML_V4, DSML_V32};
pub(crate) use hermes::HERMES;
pub(crate) use invoke::MINIMAX;
pub(crate) use keyed::GLM;
pub(crate) use kimi::KIMI;
pub(crate) use mistral::MISTRAL;
pub(crate) use parameters::{QWEN_CODER, QWEN_CODER_JSON};
pub(crate) use types::Types;

use super::pending::Body;
use crate::python::Node;

/// A call as the model wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The id that the model gave it, in formats that have one.
    pub(crate) id: Option<String>,
    /// The function.
    pub(crate) name: String,
    /// Its arguments as JSON text: the model's own bytes where it wrote JSON.
    pub(crate) arguments: String,
}

/// A call to be written.
#[derive(Debug)]
pub(crate) struct Written<'c> {
    /// Its id, for formats that have one.
    pub(crate) id: Option<&'c str>,
    /// Its place in the turn.
    pub(crate) nth: usize,
    /// The function.
    pub(crate) name: &'c str,
    /// Its arguments.
    pub(crate) arguments: &'c [(String, Node)],
    /// Its arguments as they came, where they came as text.
    pub(crate) text: Option<&'c str>,
    /// Whether it is written as a model would sample it, not as history shows it.
    pub(crate) sampled: bool,
}

/// Where a closing mark does not close a call, because it is part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelter {
    /// Inside a JSON string.
    JsonString,
    /// Between two texts.
    Between(&'static str, &'static str),
    /// Between two of the format's inner marks.
    Inner(usize, usize),
}

/// One format of calls.
pub(crate) trait CallFormat: std::fmt::Debug + Send + Sync {
    /// The marks that open and close a call, or a block of calls.
    fn marks(&self) -> (&'static str, &'static str);

    /// Marks inside it that vocabularies have tokens for.
    fn inner(&self) -> &'static [&'static str] {
        &[]
    }

    /// Where a closing mark is part of a value.
    fn shelter(&self) -> Shelter;

    /// Whether a block holds all calls of a turn, so that one is written for all of them.
    fn is_block(&self) -> bool {
        false
    }

    /// Whether a call has no closing mark and ends where the next one begins, or with the turn.
    fn ends_itself(&self) -> bool {
        false
    }

    /// What a block writes before its first call.
    fn block_start(&self) -> &'static str {
        ""
    }

    /// What opens the first call after this content.
    fn opener(&self, _content: &str) -> &'static str {
        self.marks().0
    }

    /// Whether nothing closes a call but the turn's end. Then a turn that begins with `{` can be one
    /// without its mark.
    fn ends_with_turn(&self) -> bool {
        false
    }

    /// Whether history shows one call a turn at most.
    fn is_single(&self) -> bool {
        false
    }

    /// What stands, within the marks, before and after arguments that are one JSON object; `None` where a call
    /// cannot be written so. The name is plain.
    fn around(&self, _name: &str) -> Option<(String, &'static str)> {
        None
    }

    /// Reads what stands between the marks; `None` where it is no call.
    fn read(&self, body: Body<'_>, types: &Types) -> Option<Vec<Call>>;

    /// Writes one call, without the marks.
    fn write(&self, call: &Written<'_>, out: &mut String);
}

/// Whether a bare text can be a function's name: not where it holds what no name holds.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '<' | '>'))
}

/// Whether a text can be a parameter's name in a format that writes it into a tag: not where it holds
/// the tag's own marks, because then the tag was not closed and the name is what stands after it.
fn is_key(text: &str) -> bool {
    !text.is_empty() && !text.contains(['<', '>', '"', '\n'])
}

/// A value and what follows it. The value ends at the first `end` after which one of `next` stands:
/// earlier ones are part of it.
fn value<'t>(text: &'t str, end: &str, next: [&str; 2]) -> Option<(&'t str, &'t str)> {
    text.match_indices(end).find_map(|(at, tag)| {
        let after = &text[at + tag.len()..];
        let follows = after.trim_start();
        next.iter().any(|next| follows.starts_with(next)).then(|| (&text[..at], after))
    })
}
