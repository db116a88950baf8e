//! What a family writes a prompt on.
//!
//! The invariant: only what the family's own words spell becomes a control token.

use serde_json::Value;
use verbatim_chat::{Content, Image, Message, Part};

use super::Native;
use super::images::VISION;
use crate::python::{Node, Style, dumps, lstrip, rstrip, strip};
use crate::script::{Script, Written};
use crate::{RenderError, Scene, Source};

/// A prompt in the making.
pub(crate) struct Page<'p> {
    pub(crate) scene: Scene<'p>,
    native: &'p Native,
    script: Script<'p>,
}

impl<'p> Page<'p> {
    pub(super) fn new(native: &'p Native, scene: Scene<'p>) -> Self {
        Self { scene, native, script: Script::new(&*native.tokenizer) }
    }

    /// Writes the template's own words; what they spell are the tokens.
    pub(crate) fn frame(&mut self, text: &str) {
        self.script.marked(text, Source::Template, &self.native.all);
    }

    /// Writes what a person or a tool wrote: text, whatever it spells.
    pub(crate) fn text(&mut self, text: &str, message: usize) {
        self.script.text(text, Source::Message(message));
    }

    /// Writes what a person or a tool wrote and showed.
    pub(crate) fn content(&mut self, content: &Content, message: usize) -> Result<(), RenderError> {
        match content {
            Content::Parts(parts) if content.has_images() => {
                for part in parts {
                    match part {
                        Part::Text(text) => self.text(text, message),
                        Part::Image(image) => self.image(image, message)?,
                    }
                }
            }
            _ => self.text(&content.text(), message),
        }
        Ok(())
    }

    /// The same, without the whitespace at its ends; beside an image it is no end.
    pub(crate) fn stripped(&mut self, content: &Content, message: usize) -> Result<(), RenderError> {
        let Content::Parts(parts) = content else {
            self.text(strip(&content.text()), message);
            return Ok(());
        };
        let blank = |part: &&Part| part.text().is_some_and(|text| strip(text).is_empty());
        let first = parts.iter().take_while(blank).count();
        let parts = &parts[first..];
        let parts = &parts[..parts.len() - parts.iter().rev().take_while(blank).count()];
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    let text = if at == 0 { lstrip(text) } else { text };
                    self.text(if at + 1 == parts.len() { rstrip(text) } else { text }, message);
                }
                Part::Image(image) => self.image(image, message)?,
            }
        }
        Ok(())
    }

    /// Writes an image: the placeholders that the model's image processor makes of it, between their frames.
    pub(crate) fn image(&mut self, image: &Image, message: usize) -> Result<(), RenderError> {
        let Some(vision) = self.native.vision else {
            return Err(self.native.blind(message));
        };
        let grid = vision.patches.grid(image.size()).ok_or_else(|| self.native.too_long(image, message))?;
        let length = vision.patches.placeholders(grid);
        self.frame(VISION[0]);
        self.script.image(vision.pad, grid, length, Source::Message(message));
        self.frame(VISION[2]);
        Ok(())
    }

    /// Writes what belongs to no message and is still not the template's, like a declaration.
    pub(crate) fn declared(&mut self, text: &str) {
        self.script.text(text, Source::Template);
    }

    /// Writes a declaration as Python's `json.dumps` spells it, between two frames. It is text:
    /// a tool's author writes no control tokens.
    pub(crate) fn declaration(&mut self, before: &str, declared: &Value, after: &str) {
        let mut text = String::new();
        dumps(&Node::from(declared), &Style::default(), &mut text);
        self.frame(before);
        self.declared(&text);
        self.frame(after);
    }

    /// Writes what a model said: its markers are the tokens, control tokens in it are text.
    pub(crate) fn said(&mut self, text: &str, message: usize) {
        self.script.marked(text, Source::Message(message), &self.native.markers);
    }

    /// Writes the format's own words inside what a model said; what they spell are the tokens.
    pub(crate) fn framed(&mut self, text: &str, message: usize) {
        self.script.marked(text, Source::Message(message), &self.native.all);
    }

    /// A template argument.
    pub(crate) fn argument(&self, name: &str) -> Option<&'p Value> {
        self.native.arguments.get(self.scene.setup, name)
    }

    /// Whether the model is left to think.
    pub(crate) fn thinks(&self) -> bool {
        self.native.thinks(self.scene)
    }

    /// A template argument that is none of the values that the family knows.
    pub(crate) fn conflict(&self, name: &str, value: &Value, known: &str) -> RenderError {
        RenderError::Argument {
            name: name.to_owned(),
            value: value.to_string(),
            fixed: known.to_owned(),
            family: self.native.table.name.to_owned(),
        }
    }

    /// What this family has no spelling for.
    pub(crate) fn unsupported(&self, message: usize, what: &str) -> RenderError {
        self.native.unsupported(message, what)
    }

    /// A tool whose declaration this family cannot show.
    pub(crate) fn undeclared(&self, tool: usize) -> RenderError {
        RenderError::Template {
            reason: format!("tools[{tool}] is not declared as family {} can show it", self.native.table.name),
        }
    }

    pub(super) fn finish(self) -> Written {
        self.script.finish()
    }
}

/// Messages with the one before them, where rendering begins in the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages<'m> {
    /// What is rendered.
    pub(crate) new: &'m [Message],
    /// The sampled turn that they follow, if they follow one.
    pub(crate) before: Option<&'m Message>,
}

impl<'m> Messages<'m> {
    /// The message before position `at`.
    pub(crate) fn previous(&self, at: usize) -> Option<&'m Message> {
        if at == 0 { self.before } else { self.new.get(at - 1) }
    }

    /// The message after it.
    pub(crate) fn next(&self, at: usize) -> Option<&'m Message> {
        self.new.get(at + 1)
    }

    /// The last assistant's message before it.
    pub(crate) fn assistant(&self, at: usize) -> Option<&'m Message> {
        let earlier = self.new[..at].iter().rev().chain(self.before);
        earlier.into_iter().find(|message| message.role == verbatim_chat::Role::Assistant)
    }
}
