//! What an assistant says, between the opener and the end of its turn.
//!
//! The invariant: a body is what a model would sample, so that a history of bodies and a history
//! of sampled turns are the same ids; and what is parsed and written again is what was sampled.

use std::borrow::Cow;

use verbatim_chat::{Arguments, Message, StartState};

use super::{Native, Page};
use crate::parser::calls::Written;
use crate::parser::channels::Stroke;
use crate::parser::newlines;
use crate::{RenderError, calls};

/// What history shows of an assistant's reasoning.
#[derive(Debug)]
pub(crate) enum Thought<'m> {
    /// A think block with this in it, possibly nothing.
    Block(Cow<'m, str>),
    /// What the family writes where there was none.
    Silent,
    /// Nothing: the content has its own block.
    Nothing,
}

/// A message as its family's template takes it apart.
#[derive(Debug)]
pub(crate) struct Said<'m> {
    /// The reasoning.
    pub(crate) thought: Thought<'m>,
    /// The content.
    pub(crate) content: Cow<'m, str>,
}

impl<'m> Said<'m> {
    /// The message's own reasoning and content.
    pub(crate) fn plain(message: &'m Message) -> Self {
        Self { thought: thought(message), content: message.content.text() }
    }

    /// The same, but where no reasoning field came along, a think block that is spelled out in the
    /// content is taken for one: what the templates of Qwen, GLM and MiniMax do.
    pub(crate) fn unfolded(message: &'m Message, content: Cow<'m, str>) -> Self {
        let found = match &message.reasoning {
            Some(_) => None,
            None => content.split_once("</think>").zip(content.rsplit_once("</think>")),
        };
        let Some(((before, _), (_, after))) = found else {
            return Self { thought: thought(message), content };
        };
        let before = before.trim_end_matches('\n');
        let inside = before.rsplit_once("<think>").map_or(before, |(_, inside)| inside);
        let inside = inside.trim_start_matches('\n');
        let silent = inside.is_empty();
        Self {
            thought: if silent { Thought::Silent } else { Thought::Block(Cow::Owned(inside.to_owned())) },
            content: Cow::Owned(after.trim_start_matches('\n').to_owned()),
        }
    }

    /// The reasoning and the content, each trimmed. Reasoning that was there stays a block.
    pub(crate) fn map(self, reasoning: impl Fn(&str) -> &str, content: impl Fn(&str) -> &str) -> Self {
        let thought = match self.thought {
            Thought::Block(text) => Thought::Block(Cow::Owned(reasoning(&text).to_owned())),
            other => other,
        };
        Self { thought, content: Cow::Owned(content(&self.content).to_owned()) }
    }
}

fn thought(message: &Message) -> Thought<'_> {
    match message.reasoning.as_deref() {
        None | Some("") => Thought::Silent,
        Some(text) => Thought::Block(Cow::Borrowed(text)),
    }
}

impl Native {
    /// Writes a turn as history has it.
    pub(super) fn history(
        &self,
        message: &Message,
        at: usize,
        page: &mut Page<'_>,
    ) -> Result<(), RenderError> {
        if let Some(channels) = self.format.channels() {
            return self.strokes(channels.write(message, false), at, page);
        }
        let said = self.format.said(message);
        let mut body = String::new();
        match self.table.switch.muted.filter(|_| !self.thinks(page.scene)) {
            Some(muted) => body.push_str(muted),
            None => self.think(&said, StartState::Content, &mut body),
        }
        body.push_str(&said.content);
        self.calls(message, &said.content, Some(at), &mut body)?;
        page.said(&body, at);
        Ok(())
    }

    fn strokes(
        &self,
        written: Result<Vec<Stroke>, usize>,
        at: usize,
        page: &mut Page<'_>,
    ) -> Result<(), RenderError> {
        for stroke in written.map_err(|call| RenderError::Arguments { message: at, call })? {
            match stroke {
                Stroke::Frame(text) => page.framed(&text, at),
                Stroke::Text(text) => page.text(&text, at),
            }
        }
        Ok(())
    }

    /// Writes what a model would sample for `message`.
    pub(super) fn say(
        &self,
        start: StartState,
        message: &Message,
        page: &mut Page<'_>,
    ) -> Result<(), RenderError> {
        if let Some(channels) = self.format.channels() {
            return self.strokes(channels.write(message, true), 0, page);
        }
        // What was parsed is written as it is; a block spelled out in content is one all the same.
        let folded = message.reasoning.is_none() && message.content.text().contains("</think>");
        let said = if folded { self.format.said(message) } else { Said::plain(message) };
        let silent = !matches!(&said.thought, Thought::Block(text) if !text.is_empty());
        if self.table.thinking.is_none() && !silent {
            return Err(self.unsupported(0, "reasoning, which its format does not have"));
        }
        let thinks = self.thinks(page.scene);
        if !thinks && start == StartState::Content && !silent {
            return Err(self.unsupported(0, "reasoning where enable_thinking is false"));
        }
        let mut body = String::new();
        if thinks || start == StartState::Reasoning {
            self.think(&said, start, &mut body);
        }
        body.push_str(&said.content);
        self.calls(message, &said.content, None, &mut body)?;
        page.said(&body, 0);
        Ok(())
    }

    fn think(&self, said: &Said<'_>, start: StartState, body: &mut String) {
        let Some(thinking) = self.table.thinking else { return };
        let opened = start == StartState::Reasoning;
        let reasoning = match &said.thought {
            Thought::Block(text) => text.as_ref(),
            Thought::Silent => match thinking.silent.filter(|_| !opened) {
                Some(silent) => return body.push_str(silent),
                None => "",
            },
            Thought::Nothing => return,
        };
        if !opened {
            body.push_str(thinking.open);
            body.push_str(&newlines(thinking.after_open));
        }
        body.push_str(reasoning);
        body.push_str(&newlines(thinking.before_close));
        body.push_str(thinking.close);
        if thinking.always_after || !said.content.is_empty() {
            body.push_str(&newlines(thinking.after_close));
        }
    }

    /// Writes a message's calls: those of the message at `at` in history, or those to be sampled.
    fn calls(
        &self,
        message: &Message,
        content: &str,
        at: Option<usize>,
        body: &mut String,
    ) -> Result<(), RenderError> {
        let (at, sampled) = (at.unwrap_or_default(), at.is_none());
        if message.tool_calls.is_empty() {
            return Ok(());
        }
        let Some(calling) = self.table.calling else {
            return Err(self.unsupported(at, "tool calls, which its format does not have"));
        };
        if !sampled && calling.format.is_single() && message.tool_calls.len() > 1 {
            return Err(self.unsupported(at, "more than one tool call in a turn"));
        }
        let (open, close) = (calling.format.opener(content), calling.format.marks().1);
        let block = calling.format.is_block();
        for (nth, call) in message.tool_calls.iter().enumerate() {
            let arguments =
                calls::object(&call.arguments).ok_or(RenderError::Arguments { message: at, call: nth })?;
            if nth == 0 {
                body.push_str(&newlines(calling.gaps.before_first(content)));
            } else {
                body.push_str(&newlines(calling.gaps.between));
            }
            if nth == 0 || !block {
                body.push_str(open);
                body.push_str(calling.format.block_start());
            }
            let text = match &call.arguments {
                Arguments::Text(text) => Some(text.as_str()),
                Arguments::Json(_) => None,
            };
            let (name, id) = (call.name.as_str(), call.id.as_deref());
            let written = Written { id, nth, name, arguments: &arguments, text, sampled };
            calling.format.write(&written, body);
            if nth + 1 == message.tool_calls.len() || !block {
                body.push_str(close);
            }
        }
        body.push_str(&newlines(calling.gaps.last));
        Ok(())
    }
}
