//! One message of a conversation.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Image;

/// Who speaks.
///
/// OpenAI's `developer` is mapped to [`Role::System`] by the dialect, which reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// The person, or the environment speaking in their place.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The name that templates and wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a message says. Absent, empty and a list of one text part are three different spellings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// No key, or null.
    #[default]
    Absent,
    /// A plain string, possibly empty.
    Text(String),
    /// A list of parts, possibly empty.
    Parts(Vec<Part>),
}

/// One element of a content list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(String),
    /// An image.
    Image(Arc<Image>),
}

impl Part {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}

impl Content {
    /// The text, parts joined without a separator, absent as empty. Images are passed over: whoever must not lose them
    /// asks for [`Content::images`] too.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Absent => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => match parts.as_slice() {
                [Part::Text(only)] => Cow::Borrowed(only),
                many => Cow::Owned(many.iter().filter_map(Part::text).collect()),
            },
        }
    }

    /// The images, each with the byte of [`Content::text`] before which it stands.
    pub fn images(&self) -> impl Iterator<Item = (usize, &Arc<Image>)> {
        let parts = match self {
            Self::Parts(parts) => parts.as_slice(),
            Self::Absent | Self::Text(_) => &[],
        };
        let mut at = 0;
        parts.iter().filter_map(move |part| match part {
            Part::Text(text) => {
                at += text.len();
                None
            }
            Part::Image(image) => Some((at, image)),
        })
    }

    /// Whether it holds an image.
    pub fn has_images(&self) -> bool {
        self.images().next().is_some()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// The arguments of a call, as they were written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// JSON text, byte for byte as the model or the client wrote it; it may be malformed.
    Text(String),
    /// A JSON value, where the dialect carries parsed arguments and the spelling is lost.
    Json(Value),
}

impl Arguments {
    /// The parsed value; `None` where the text is no JSON.
    pub fn parsed(&self) -> Option<Cow<'_, Value>> {
        match self {
            Self::Text(text) => serde_json::from_str(text).ok().map(Cow::Owned),
            Self::Json(value) => Some(Cow::Borrowed(value)),
        }
    }

    /// The arguments as JSON text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Json(value) => Cow::Owned(value.to_string()),
        }
    }
}

/// A function that the model asked to be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id by which the result will name it.
    pub id: Option<String>,
    /// The function.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    #[serde(default)]
    pub content: Content,
    /// The thinking that came before it (`reasoning_content` on the wire).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The calls that an assistant makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The speaker's or the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// A message of `role` that says `content` and nothing else.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }

    /// About how much memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let content = match &self.content {
            Content::Absent => 0,
            Content::Text(text) => text.len(),
            Content::Parts(parts) => {
                let held = |part: &Part| match part {
                    Part::Text(text) => text.len(),
                    Part::Image(image) => size_of::<Image>() + image.bytes().len(),
                };
                parts.iter().map(|part| size_of::<Part>() + held(part)).sum()
            }
        };
        let calls: usize = self
            .tool_calls
            .iter()
            .map(|call| {
                size_of::<ToolCall>() + length(&call.id) + call.name.len() + call.arguments.text().len()
            })
            .sum();
        let named = length(&self.reasoning) + length(&self.tool_call_id) + length(&self.name);
        size_of::<Self>() + content + calls + named
    }
}
