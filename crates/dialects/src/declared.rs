//! Tools as chat declares them, for dialects that declare them otherwise.

use serde_json::{Map, Value, json};
use verbatim_chat::Tool;

/// The tool that is a function of that name. Templates render its keys in this order.
pub(crate) fn function(name: String, description: Option<String>, parameters: Option<Value>) -> Tool {
    let mut function = Map::new();
    function.insert("name".into(), name.into());
    function.extend(description.map(|text| ("description".to_owned(), text.into())));
    function.extend(parameters.map(|schema| ("parameters".to_owned(), schema)));
    Tool(json!({"type": "function", "function": function}))
}
