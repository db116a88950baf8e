//! Which vocabulary cannot be had.

/// A `tokenizer.json` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// No JSON, or not the shape of a `tokenizer.json`.
    #[error("the tokenizer file cannot be read: {reason}; give the tokenizer.json of the model")]
    Json {
        /// What the reader said.
        reason: String,
    },
    /// A part of it that this build has no code for.
    #[error("the tokenizer cannot be built: {reason}")]
    Unsupported {
        /// What the library said.
        reason: String,
    },
    /// The model's vocabulary is missing or has an entry that is no entry.
    #[error("the tokenizer's vocabulary is broken: {reason}")]
    Vocabulary {
        /// Which entry, and what is wrong with it.
        reason: String,
    },
}
