//! What an engine says of itself.

use verbatim_tokens::{LogprobKind, Version};

use crate::Forms;

/// What can be relied on. `None` means that the engine does not say.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// `sim`, `embedded`, `sglang`, …
    pub engine: String,
    /// The served model's name.
    pub model: String,
    /// Prompt and reply together may hold this many tokens.
    pub max_context: usize,
    /// Ids are below this.
    pub vocabulary: usize,
    /// Which distribution its logprobs are read from.
    pub logprobs: LogprobKind,
    /// The most alternatives a token it reports; 0 if it reports none.
    pub top_logprobs: u8,
    /// Whether increments carry the policy version.
    pub versions: bool,
    /// The version at start-up.
    pub version: Option<Version>,
    /// Whether it looks for stop strings itself. Where it does not, it is aborted once the text says
    /// that it went past one.
    pub stop_strings: bool,
    /// Whether it can penalise repetition ([`crate::Params::repetition_penalty`]).
    pub repetition_penalty: bool,
    /// Whether it can keep a turn from ending early ([`crate::Params::min_tokens`]).
    pub min_tokens: bool,
    /// Which forms it can hold a reply to ([`crate::Params::form`]).
    pub forms: Forms,
    /// Whether it reports which experts its tokens were routed to.
    pub experts: bool,
    /// Whether it reports which positions the indexer of sparse attention chose.
    pub indexer: bool,
    /// Whether it is shown images beside ids ([`crate::Prompt::images`]).
    pub images: bool,
    /// Whether it turns them as their EXIF data says. An engine that does not would read another image than a trainer.
    pub turns_images: bool,
    /// Whether it parses its replies itself and sends the message ([`crate::End::message`]). Such an
    /// attempt cannot be resumed in the middle of what it was saying.
    pub parses: bool,
}

impl Capabilities {
    /// An engine that gives ids with raw logprobs, and nothing else.
    pub fn new(
        engine: impl Into<String>,
        model: impl Into<String>,
        max_context: usize,
        vocabulary: usize,
    ) -> Self {
        Self {
            engine: engine.into(),
            model: model.into(),
            max_context,
            vocabulary,
            logprobs: LogprobKind::Raw,
            top_logprobs: 0,
            versions: false,
            version: None,
            stop_strings: false,
            repetition_penalty: false,
            min_tokens: false,
            forms: Forms::NONE,
            experts: false,
            indexer: false,
            images: false,
            turns_images: false,
            parses: false,
        }
    }
}
