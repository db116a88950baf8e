//! What the official templates render (`tools/goldens` made them).

use serde::Deserialize;
use serde_json::{Map, Value};
use verbatim_chat::{Arguments, Content, Message, Part, Role, Setup, Tool, ToolCall};
use verbatim_families::Scene;
use verbatim_tokens::TokenId;

/// One conversation and its prompt.
#[derive(Deserialize)]
pub(crate) struct Golden {
    pub(crate) name: String,
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    template: Map<String, Value>,
    /// What the family renders.
    pub(crate) ids: Vec<TokenId>,
    /// What the official template renders, where that is something else.
    pub(crate) native: Option<Vec<TokenId>>,
    /// For each assistant's turn, the length of its prompt if that is a prefix of `ids`.
    pub(crate) prompts: Vec<Option<usize>>,
}

/// The goldens of a family.
pub(crate) fn of(name: &str) -> Vec<Golden> {
    lines(name).map(|line| serde_json::from_str(&line).unwrap()).collect()
}

/// The lines of a file of goldens.
pub(crate) fn lines(name: &str) -> impl Iterator<Item = String> {
    let path = format!("{}/tests/goldens/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

impl Golden {
    pub(crate) fn setup(&self) -> Setup {
        Setup { tools: self.tools.clone(), template: self.template.clone() }
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages.iter().map(message).collect()
    }
}

/// The scene of a setup.
pub(crate) fn scene(setup: &Setup) -> Scene<'_> {
    Scene { setup, opened: 1_741_100_767 }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn message(value: &Value) -> Message {
    let role: Role = serde_json::from_value(value["role"].clone()).unwrap();
    let content = match &value["content"] {
        Value::Null => Content::Absent,
        Value::String(text) => Content::Text(text.clone()),
        parts => {
            let parts = parts.as_array().unwrap().iter();
            Content::Parts(parts.map(|part| Part::Text(text(part, "text").unwrap())).collect())
        }
    };
    let calls = value.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.map(|call| ToolCall {
        id: text(call, "id"),
        name: text(&call["function"], "name").unwrap(),
        arguments: match &call["function"]["arguments"] {
            Value::String(text) => Arguments::Text(text.clone()),
            object => Arguments::Json(object.clone()),
        },
    });
    Message {
        reasoning: text(value, "reasoning_content"),
        tool_calls: calls.collect(),
        tool_call_id: text(value, "tool_call_id"),
        name: text(value, "name"),
        ..Message::new(role, content)
    }
}
