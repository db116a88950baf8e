//! What an agent is given to do.

use serde::Serialize;
use serde_json::{Map, Value};

/// The input file: `{"messages": […], "metadata": {…}}`. Messages may be none, for agents that build
/// their prompt from the metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Input {
    /// The prompt, shared by a group.
    pub messages: Vec<Value>,
    /// The row's own data.
    pub metadata: Map<String, Value>,
}
