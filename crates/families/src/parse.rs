//! What parsing yields.

use verbatim_chat::Message;
use verbatim_tokens::TokenId;

/// One step of a turn as it is parsed, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// More reasoning.
    Reasoning(String),
    /// More content.
    Content(String),
    /// A tool call begins.
    CallStarted {
        /// Its position among the turn's calls.
        index: usize,
        /// Its id.
        id: String,
        /// The function.
        name: String,
    },
    /// More of a call's argument text.
    CallArguments {
        /// Which call.
        index: usize,
        /// Bytes as the model wrote them.
        text: String,
    },
    /// A tool call ended.
    CallEnded {
        /// Which call.
        index: usize,
    },
}

/// Something a turn did not finish or spelt wrongly. The text is never lost: what is no call is
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// The turn ended inside its think block.
    ReasoningOpen,
    /// The turn ended inside a call; its text is content.
    CallOpen,
    /// A call that is no valid call; its text is content.
    CallMalformed,
}

/// A parsed turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The assistant's message.
    pub message: Message,
    /// What was wrong with it, in order.
    pub flaws: Vec<Flaw>,
    /// How many of the turn's tokens are reasoning, the marks around it among them.
    pub reasoning_tokens: usize,
}

/// A streaming parser of one turn.
pub trait Parser: Send {
    /// Takes the next sampled ids over and appends what they settle to `out`, whose earlier parts
    /// stay as they are. Stop tokens settle nothing; a call is settled when it ends.
    fn push(&mut self, ids: &[TokenId], out: &mut Vec<Part>);

    /// Ends the turn: appends what was still held back, and returns the whole.
    ///
    /// The parts of all calls, concatenated, are the returned message.
    fn finish(self: Box<Self>, out: &mut Vec<Part>) -> Parsed;
}
