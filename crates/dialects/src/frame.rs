//! One server-sent event.

use serde::Serialize;

/// What one event of a stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, in dialects whose events have one.
    pub event: Option<&'static str>,
    /// Its data: one line of JSON, or the word that ends a stream of chat.
    pub data: String,
}

impl Frame {
    /// An event without a name.
    pub fn unnamed(data: String) -> Self {
        Self { event: None, data }
    }

    /// An event whose data is JSON.
    pub(crate) fn named(event: &'static str, data: &impl Serialize) -> Self {
        // Strings, numbers and what was JSON before: there is nothing in an event that JSON cannot hold.
        Self { event: Some(event), data: serde_json::to_string(data).unwrap_or_default() }
    }
}
