//! What an engine says of itself.

use verbatim_tokens::{LogprobKind, Version};

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
}
