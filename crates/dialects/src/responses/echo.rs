//! What a request said, as its reply repeats it.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::items::Thinking;

/// The fields of a `response` that are the request's own. What it left out has the value that was acted on.
#[derive(Clone, Debug, Serialize)]
pub struct Echo {
    /// The model's name.
    pub model: String,
    pub(super) instructions: Option<String>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) metadata: Map<String, Value>,
    pub(super) parallel_tool_calls: bool,
    pub(super) previous_response_id: Option<String>,
    pub(super) reasoning: Reasoning,
    pub(super) store: bool,
    pub(super) temperature: Option<f32>,
    pub(super) top_p: Option<f32>,
    pub(super) text: TextFormat,
    pub(super) tool_choice: Box<RawValue>,
    pub(super) tools: Declared,
    truncation: &'static str,
    background: bool,
    #[serde(skip)]
    pub(super) sealed: bool,
}

/// `reasoning`, as it was asked for.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Reasoning {
    pub(super) effort: Option<String>,
    pub(super) summary: Option<String>,
}

/// `text`, as it was asked for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TextFormat {
    pub(super) format: Box<RawValue>,
}

/// Tools as they were sent.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Declared {
    None([(); 0]),
    Sent(Box<RawValue>),
}

impl Echo {
    /// Of a request that says nothing but the model.
    pub fn new(model: String) -> Self {
        Self {
            model,
            instructions: None,
            max_output_tokens: None,
            metadata: Map::new(),
            parallel_tool_calls: true,
            previous_response_id: None,
            reasoning: Reasoning::default(),
            store: true,
            temperature: None,
            top_p: None,
            text: TextFormat { format: raw(r#"{"type":"text"}"#) },
            tool_choice: raw("\"auto\""),
            tools: Declared::None([]),
            truncation: "disabled",
            background: false,
            sealed: false,
        }
    }

    pub(super) fn thinking(&self) -> Thinking {
        Thinking { summarised: self.reasoning.summary.is_some(), sealed: self.sealed }
    }
}

/// JSON of our own.
fn raw(text: &'static str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_default()
}
