//! Messages of OpenAI's chat endpoints, both ways: for engines that parse their own replies.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_dialects::chat::spell;
use verbatim_engine::{EngineError, Prompt};

/// Puts what a prompt spells into a request: messages, tools, template arguments.
///
/// # Errors
/// [`EngineError::Broken`] if the prompt does not say what it spells.
pub(crate) fn put_conversation(asked: &mut Map<String, Value>, prompt: &Prompt) -> Result<(), EngineError> {
    let conversation = prompt.conversation.as_ref().ok_or_else(|| EngineError::Broken {
        reason: "an engine that parses needs the messages behind its prompt".into(),
    })?;
    let setup = &conversation.setup;
    let messages = conversation.messages.iter().map(|message| spell(message)).collect();
    asked.insert("messages".to_owned(), messages);
    if !setup.tools.is_empty() {
        asked.insert("tools".to_owned(), json!(setup.tools));
    }
    if !setup.template.is_empty() {
        asked.insert("chat_template_kwargs".to_owned(), json!(setup.template));
    }
    Ok(())
}

/// An assistant's message as chat endpoints give it. SGLang calls thinking `reasoning_content`, vLLM
/// `reasoning`.
#[derive(Debug, Deserialize)]
pub(crate) struct Spoken {
    #[serde(default)]
    content: Option<String>,
    #[serde(default, alias = "reasoning")]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Called>>,
}

#[derive(Debug, Deserialize)]
struct Called {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

impl From<Spoken> for Message {
    fn from(spoken: Spoken) -> Self {
        let calls = spoken.tool_calls.unwrap_or_default();
        let content = match spoken.content {
            Some(text) if !text.is_empty() || calls.is_empty() => Content::Text(text),
            _ => Content::Absent,
        };
        Self {
            reasoning: spoken.reasoning_content.filter(|text| !text.is_empty()),
            tool_calls: calls
                .into_iter()
                .map(|call| ToolCall {
                    id: call.id,
                    name: call.function.name,
                    arguments: Arguments::Text(call.function.arguments),
                })
                .collect(),
            ..Self::new(Role::Assistant, content)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_went_out() {
        let message = Message {
            reasoning: Some("hm".into()),
            tool_calls: vec![ToolCall {
                id: Some("call_1".into()),
                name: "add".into(),
                arguments: Arguments::Text("{\"a\":  1}".into()),
            }],
            ..Message::new(Role::Assistant, "so")
        };
        let spoken: Spoken = serde_json::from_value(spell(&message)).unwrap();
        assert_eq!(Message::from(spoken), message);
    }

    #[test]
    fn vllm_says_reasoning_and_null() {
        let spoken = r#"{"role":"assistant","content":null,"reasoning":"hm","tool_calls":[]}"#;
        let message: Message = serde_json::from_str::<Spoken>(spoken).unwrap().into();
        assert_eq!((message.reasoning.as_deref(), message.content), (Some("hm"), Content::Absent));
    }
}
