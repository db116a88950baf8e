//! A message as chat endpoints take it.

use serde_json::{Value, json};
use verbatim_chat::{Content, Message, Part, ToolCall};

/// The JSON of a message in OpenAI's words; reasoning is `reasoning_content`, arguments are JSON text.
pub fn spell(message: &Message) -> Value {
    let content = match &message.content {
        Content::Absent => Value::Null,
        Content::Text(text) => json!(text),
        Content::Parts(parts) => {
            let part = |part: &Part| match part {
                Part::Text(text) => json!({"type": "text", "text": text}),
                Part::Image(image) => json!({"type": "image_url", "image_url": {"url": image.data_url()}}),
            };
            parts.iter().map(part).collect()
        }
    };
    let mut spelt = json!({"role": message.role.as_str(), "content": content});
    if let Some(reasoning) = &message.reasoning {
        spelt["reasoning_content"] = json!(reasoning);
    }
    if !message.tool_calls.is_empty() {
        spelt["tool_calls"] = message.tool_calls.iter().map(call).collect();
    }
    for (key, value) in [("tool_call_id", &message.tool_call_id), ("name", &message.name)] {
        if let Some(value) = value {
            spelt[key] = json!(value);
        }
    }
    spelt
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.text()});
    json!({"id": call.id, "type": "function", "function": function})
}
