//! Requests that cannot be taken.

/// A request that is malformed or asks for what cannot be given. The text names the field, what is
/// wrong with its value, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// The field's path in the body, such as `messages[2].content`; `body` for the body itself.
    pub field: String,
    /// What is wrong, and what to send instead.
    pub problem: String,
}

impl Invalid {
    /// Field and problem.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}
