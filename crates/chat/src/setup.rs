//! What a conversation is rendered with, apart from its messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool as the client declared it: one JSON object, its key order kept, because the order
/// decides the rendered text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tool(pub Value);

impl Tool {
    /// The declared function's name, if the declaration has one.
    pub fn name(&self) -> Option<&str> {
        let function = self.0.get("function").unwrap_or(&self.0);
        function.get("name")?.as_str()
    }
}

/// Tools and template arguments: the root of a lineage. Two conversations that differ here share
/// no prefix, even if every message is equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Declared tools, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// `chat_template_kwargs`, after the server's own were laid under the request's.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub template: Map<String, Value>,
}
