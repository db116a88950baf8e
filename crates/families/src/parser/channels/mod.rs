//! Turns that are cut into messages, each with a header that says what it is.
//!
//! The invariant: only tokens cut a turn, so that no text can; every character of reasoning and
//! content is the model's own, and what is no call is content with its frame spelled out. A call is
//! one whether or not tools were declared: its tokens say so.

mod parser;

use verbatim_chat::Message;

pub(crate) use parser::{ChannelParser, Cuts};

use super::calls::Call;

/// What a message of a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reasoning.
    Reasoning,
    /// Content.
    Content,
    /// A call.
    Call,
}

/// A stretch of a turn that is written.
#[derive(Debug)]
pub(crate) enum Stroke {
    /// The format's own words, whose tokens are tokens.
    Frame(String),
    /// What was said: text, whatever it spells.
    Text(String),
}

/// A format of such turns.
pub(crate) trait Channels: std::fmt::Debug + Send + Sync {
    /// The token that opens a further message of the turn; the prompt opens the first.
    fn start(&self) -> &'static str;

    /// The tokens that end a header.
    fn openers(&self) -> &'static [&'static str];

    /// Further tokens in a header.
    fn inner(&self) -> &'static [&'static str] {
        &[]
    }

    /// The token that ends a message.
    fn end(&self) -> &'static str;

    /// The tokens that end a turn of this format, whatever the template says.
    fn stops(&self) -> &'static [&'static str] {
        &[]
    }

    /// What a message is that `opener` opens after this header; `None` where it is nothing known.
    fn kind(&self, header: &str, opener: usize) -> Option<Kind>;
    /// Whether a header that is nothing known was meant to call: what it says then is flagged.
    fn meant_to_call(&self, _header: &str) -> bool {
        false
    }

    /// Reads a call; `None` where it is none.
    fn read(&self, header: &str, body: &str) -> Option<Call>;

    /// Writes a turn, from after its opener to before its end, as history has it or as a model would
    /// sample it. `None` where a call's arguments are no object: which one's.
    ///
    /// # Errors
    /// The position of a call whose arguments are no object.
    fn write(&self, message: &Message, sampled: bool) -> Result<Vec<Stroke>, usize>;
}
