//! What rendering yields.

use verbatim_chat::{ImagePlace, Message};
use verbatim_tokens::{Runs, TokenId};

use crate::StartState;

/// Where a rendered token came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The template: role openers, separators, tool declarations' frame, the generation prompt.
    Template,
    /// The message of this index among those rendered.
    Message(usize),
}

/// A conversation as ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// One source an id.
    pub sources: Runs<Source>,
    /// Where the messages' images stand among the ids, in their order.
    pub images: Vec<ImagePlace>,
    /// What the assistant's turn starts in.
    pub start: StartState,
}

/// The sampled turn that is to be extended.
#[derive(Clone, Copy, Debug)]
pub struct Junction<'a> {
    /// The turn's sampled ids, stop token included where one was sampled.
    pub sampled: &'a [TokenId],
    /// The turn's message, as it was parsed.
    pub message: &'a Message,
}

/// What follows a sampled turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extension {
    /// How many sampled tokens at the turn's end are replaced by what follows; at most the
    /// family's `max_trim`.
    pub trim: usize,
    /// The ids that follow.
    pub ids: Vec<TokenId>,
    /// One source an id; message indices count the new messages.
    pub sources: Runs<Source>,
    /// Where the new messages' images stand among the ids, in their order.
    pub images: Vec<ImagePlace>,
    /// What the assistant's turn starts in.
    pub start: StartState,
    /// What had to be added because the model did not end its turn.
    pub repair: Option<Repair>,
}

/// How a junction was made legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The turn had no end token (a length cut, a stop string); it was added as an observation.
    EndAdded,
    /// The turn ended in another stop token than the template's; the template's was added.
    OtherStop(TokenId),
}
