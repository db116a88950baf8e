//! A conversation as a template sees it.

use minijinja::Value;
use verbatim_chat::{Message, Role};

use super::convert::value;
use super::engine::Frame;
use super::{NAME, Templated, locate};
use crate::python::Node;
use crate::{RenderError, Scene, calls};

/// Messages for a template, and what each of them says.
pub(super) struct Prepared {
    values: Vec<Value>,
    /// The same with marks around every text.
    marked: Vec<Value>,
    /// Guarded texts of each message in the order in which templates write them.
    pub(super) texts: Vec<Vec<String>>,
}

impl Prepared {
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(super) fn marked(&self) -> &[Value] {
        &self.marked
    }
}

impl Templated {
    /// What the template sees besides messages.
    pub(super) fn context(&self, scene: Scene<'_>) -> Result<Frame, RenderError> {
        self.arguments.check(scene.setup)?;
        let guarded = |json: &serde_json::Value| {
            let mut node = Node::from(json);
            node.map_text(&|text| self.guard.all(text));
            value(&node)
        };
        let tools = &scene.setup.tools;
        let tools = (!tools.is_empty()).then(|| tools.iter().map(|tool| guarded(&tool.0)).collect::<Value>());
        let special =
            self.special_tokens.iter().map(|(name, token)| (name.clone(), Value::from(token.as_str())));
        let arguments = self.arguments.all(scene.setup).map(|(name, json)| (name.clone(), guarded(json)));
        Ok(Frame::new(scene.opened, tools, special.chain(arguments)))
    }

    /// Messages as transformers hands them over: no key without a value, arguments as objects,
    /// reasoning under both of its names. Content is always there, and always text.
    pub(super) fn prepare(&self, messages: &[Message]) -> Result<Prepared, RenderError> {
        let mut prepared = Prepared { values: Vec::new(), marked: Vec::new(), texts: Vec::new() };
        for (at, message) in messages.iter().enumerate() {
            if message.content.has_images() {
                return Err(RenderError::Image {
                    message: at,
                    what: "an image".into(),
                    family: NAME.into(),
                    way_out: "send its text, or serve a family that shows images (qwen25vl, qwen35)".into(),
                });
            }
            let guard = |text: &str| match message.role {
                Role::Assistant => self.guard.control(text),
                _ => self.guard.all(text),
            };
            let content = guard(&message.content.text());
            let reasoning = message.reasoning.as_deref().map(guard);
            let text = |text: &str| Node::Text(text.to_owned());
            let mut fields = vec![("role", text(message.role.as_str())), ("content", text(&content))];
            if let Some(reasoning) = &reasoning {
                fields.push(("reasoning_content", text(reasoning)));
                fields.push(("thinking", text(reasoning)));
            }
            if !message.tool_calls.is_empty() {
                fields.push(("tool_calls", self.calls(message, at)?));
            }
            let ids = [("tool_call_id", &message.tool_call_id), ("name", &message.name)];
            fields.extend(
                ids.into_iter().filter_map(|(key, id)| Some((key, Node::Text(guard(id.as_deref()?))))),
            );
            let mut fields: Vec<_> = fields.into_iter().map(|(key, node)| (key.to_owned(), node)).collect();
            prepared.values.push(value(&Node::Map(fields.clone())));
            for (key, node) in &mut fields {
                if matches!(key.as_str(), "content" | "reasoning_content" | "thinking") {
                    node.map_text(&|text| locate::marked(at, text));
                }
            }
            prepared.marked.push(value(&Node::Map(fields)));
            prepared.texts.push(reasoning.into_iter().chain([content]).collect());
        }
        Ok(prepared)
    }

    fn calls(&self, message: &Message, at: usize) -> Result<Node, RenderError> {
        let text = |text: &str| Node::Text(self.guard.control(text));
        let call = |(nth, call): (usize, &verbatim_chat::ToolCall)| {
            let arguments =
                calls::object(&call.arguments).ok_or(RenderError::Arguments { message: at, call: nth })?;
            let mut arguments = Node::Map(arguments);
            arguments.map_text(&|text| self.guard.control(text));
            let function =
                Node::Map(vec![("name".to_owned(), text(&call.name)), ("arguments".to_owned(), arguments)]);
            let id = call.id.as_deref().map(|id| ("id".to_owned(), text(id)));
            let rest = [("type".to_owned(), text("function")), ("function".to_owned(), function)];
            Ok(Node::Map(id.into_iter().chain(rest).collect()))
        };
        Ok(Node::List(message.tool_calls.iter().enumerate().map(call).collect::<Result<_, _>>()?))
    }
}
