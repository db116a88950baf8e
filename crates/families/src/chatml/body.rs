//! What an assistant says, between the opener and the end of its turn.
//!
//! The invariant: a body is what a model would sample, so that a history of bodies and a history
//! of sampled turns are the same ids.

use std::borrow::Cow;

use verbatim_chat::{Message, StartState};

use super::ChatMl;
use crate::python::{Node, Style, dumps};
use crate::script::Script;
use crate::{RenderError, Scene, Source, calls};

impl ChatMl {
    /// Renders an assistant's message from `start` on.
    pub(super) fn body(
        &self,
        message: &Message,
        at: usize,
        start: StartState,
        script: &mut Script<'_>,
    ) -> Result<(), RenderError> {
        let written = message.content.text();
        let (reasoning, content) =
            if self.table.think { thought(message, &written) } else { (Cow::Borrowed(""), &*written) };
        let mut body = String::new();
        if self.table.think {
            body.push_str(if start == StartState::Content { "<think>\n" } else { "" });
            body.push_str(reasoning.trim_matches('\n'));
            body.push_str("\n</think>\n\n");
            body.push_str(content.trim_start_matches('\n'));
        } else {
            body.push_str(content);
        }
        self.calls(message, at, !content.is_empty(), &mut body)?;
        script.marked(&body, Source::Message(at), &self.markers);
        Ok(())
    }

    /// Renders what a model would sample for `message`.
    pub(super) fn say(
        &self,
        scene: Scene<'_>,
        start: StartState,
        message: &Message,
        script: &mut Script<'_>,
    ) -> Result<(), RenderError> {
        let silent = message.reasoning.as_deref().unwrap_or_default().is_empty();
        let unsupported = |what: &str| RenderError::Unsupported {
            message: 0,
            what: what.to_owned(),
            family: self.table.name.to_owned(),
        };
        if !self.table.think && !silent {
            return Err(unsupported("reasoning, which its format does not have"));
        }
        if start == StartState::Content && self.table.think && !self.thinks(scene) {
            // The prompt has closed the think block already.
            if !silent {
                return Err(unsupported("reasoning where enable_thinking is false"));
            }
            let content = message.content.text();
            let mut body = content.trim_start_matches('\n').to_owned();
            self.calls(message, 0, !content.is_empty(), &mut body)?;
            script.marked(&body, Source::Message(0), &self.markers);
            return Ok(());
        }
        self.body(message, 0, start, script)
    }

    fn calls(
        &self,
        message: &Message,
        at: usize,
        content: bool,
        body: &mut String,
    ) -> Result<(), RenderError> {
        for (nth, call) in message.tool_calls.iter().enumerate() {
            if content || nth > 0 {
                body.push('\n');
            }
            let arguments =
                calls::object(&call.arguments).ok_or(RenderError::Arguments { message: at, call: nth })?;
            body.push_str("<tool_call>\n{\"name\": \"");
            body.push_str(&call.name);
            body.push_str("\", \"arguments\": ");
            dumps(&Node::Map(arguments), &Style::default(), body);
            body.push_str("}\n</tool_call>");
        }
        Ok(())
    }
}

/// A message's reasoning and its content without it. Where no reasoning field came along, the
/// template takes a think block that is spelled out in the content for one.
fn thought<'m>(message: &'m Message, content: &'m str) -> (Cow<'m, str>, &'m str) {
    if let Some(reasoning) = &message.reasoning {
        return (Cow::Borrowed(reasoning), content);
    }
    match (content.split_once("</think>"), content.rsplit_once("</think>")) {
        (Some((before, _)), Some((_, after))) => {
            let before = before.trim_end_matches('\n');
            let reasoning = before.rsplit_once("<think>").map_or(before, |(_, inside)| inside);
            (Cow::Borrowed(reasoning.trim_start_matches('\n')), after.trim_start_matches('\n'))
        }
        _ => (Cow::Borrowed(""), content),
    }
}
