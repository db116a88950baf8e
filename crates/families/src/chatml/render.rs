//! The frame of a ChatML conversation: system block, turns, junctions, the opener of a turn.

use serde_json::Value;
use verbatim_chat::{Message, Role, StartState};

use super::ChatMl;
use super::table::{TOOLS_AFTER, TOOLS_BEFORE};
use crate::python::{Node, Style, dumps};
use crate::script::Script;
use crate::{Junction, RenderError, Repair, Scene, Source};

impl ChatMl {
    /// Renders the system block. Returns how many messages it took in.
    pub(super) fn head(&self, scene: Scene<'_>, messages: &[Message], script: &mut Script<'_>) -> usize {
        let first = messages.first().filter(|message| message.role == Role::System);
        let tools = &scene.setup.tools;
        let default = self.table.system.filter(|_| !messages.is_empty() || !tools.is_empty());
        if first.is_none() && default.is_none() && tools.is_empty() {
            return 0;
        }
        self.turn(Role::System, script);
        match (first, default) {
            (Some(message), _) => script.text(&message.content.text(), Source::Message(0)),
            (None, Some(default)) => script.text(default, Source::Template),
            (None, None) => {}
        }
        if !tools.is_empty() {
            let said = first.is_some() || default.is_some();
            script.text(if said { "\n\n" } else { "" }, Source::Template);
            script.marked(TOOLS_BEFORE, Source::Template, &self.markers);
            for tool in tools {
                let mut line = "\n".to_owned();
                dumps(&Node::from(&tool.0), &Style::default(), &mut line);
                script.text(&line, Source::Template);
            }
            script.marked(TOOLS_AFTER, Source::Template, &self.markers);
        }
        self.end(script);
        usize::from(first.is_some())
    }

    /// Renders messages from `from` on. Results of tools that follow one another share a turn.
    pub(super) fn messages(
        &self,
        messages: &[Message],
        from: usize,
        script: &mut Script<'_>,
    ) -> Result<(), RenderError> {
        let is_tool = |at: usize| messages.get(at).is_some_and(|message| message.role == Role::Tool);
        for (at, message) in messages.iter().enumerate().skip(from) {
            let source = Source::Message(at);
            match message.role {
                Role::System | Role::User => {
                    self.turn(message.role, script);
                    script.text(&message.content.text(), source);
                    self.end(script);
                }
                Role::Assistant => {
                    self.turn(message.role, script);
                    self.body(message, at, StartState::Content, script)?;
                    self.end(script);
                }
                Role::Tool => {
                    if at == 0 || !is_tool(at - 1) {
                        script.special(self.open, Source::Template);
                        script.text("user", Source::Template);
                    }
                    script.marked("\n<tool_response>\n", Source::Template, &self.markers);
                    script.text(&message.content.text(), source);
                    script.marked("\n</tool_response>", Source::Template, &self.markers);
                    if !is_tool(at + 1) {
                        self.end(script);
                    }
                }
            }
        }
        Ok(())
    }

    /// Opens the assistant's next turn.
    pub(super) fn prompt(&self, scene: Scene<'_>, script: &mut Script<'_>) -> StartState {
        self.turn(Role::Assistant, script);
        if !self.thinks(scene) {
            script.marked("<think>\n\n</think>\n\n", Source::Template, &self.markers);
        }
        StartState::Content
    }

    /// Whether the model is left to think. Only the boolean `false` says no, as in the template.
    pub(super) fn thinks(&self, scene: Scene<'_>) -> bool {
        !self.table.think || self.arguments.get(scene.setup, "enable_thinking") != Some(&Value::Bool(false))
    }

    /// Makes a sampled turn end as the template ends it: the model never samples the newline after
    /// its end token (Miles §4.2), and a turn that was cut has no end token either.
    pub(super) fn junction(&self, junction: Junction<'_>, script: &mut Script<'_>) -> Option<Repair> {
        let repair = match junction.sampled.last() {
            Some(last) if *last == self.close => None,
            Some(last) if self.stop.contains(last) => Some(Repair::OtherStop(*last)),
            _ => Some(Repair::EndAdded),
        };
        if repair.is_some() {
            script.special(self.close, Source::Template);
        }
        script.text("\n", Source::Template);
        repair
    }

    fn turn(&self, role: Role, script: &mut Script<'_>) {
        script.special(self.open, Source::Template);
        script.text(role.as_str(), Source::Template);
        script.text("\n", Source::Template);
    }

    fn end(&self, script: &mut Script<'_>) {
        script.special(self.close, Source::Template);
        script.text("\n", Source::Template);
    }
}
