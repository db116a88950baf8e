//! What DeepSeek V3.2 and V4 share.
//!
//! The invariant: an assistant's turn is opened where one follows, and nowhere else; what it thought
//! stays as long as thinking is on.

use serde_json::Value;
use verbatim_chat::{Message, Role, StartState};

use crate::RenderError;
use crate::native::{End, Off, Page, Switch, Table};
use crate::parser::BARE;

/// What both have in common.
pub(crate) const TABLE: Table = Table {
    name: "",
    markers: &["<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "｜DSML｜"],
    assistant: "<｜Assistant｜>",
    end: End::Token("<｜end▁of▁sentence｜>", ""),
    stop: &["<｜end▁of▁sentence｜>"],
    thinking: Some(&BARE),
    calling: None,
    switch: Switch {
        on: ("<think>", StartState::Reasoning),
        off: "</think>",
        by: Off::Chat,
        names: SWITCHES,
        muted: Some("</think>"),
        ..Switch::NONE
    },
    append: &[],
    fixed: &[("drop_thinking", false)],
    parsers: [&[], &[]],
};

/// What a model says beside text; the vocabulary calls its turns' openers no special tokens either.
pub(crate) const SPOKEN: &[&str] = &["<think>", "</think>", "｜DSML｜"];

/// The names of the thinking switch, as SGLang and Miles know them (Miles §4.2).
const SWITCHES: &[&str] = &["thinking_mode", "enable_thinking", "thinking"];

/// The system messages at the beginning, with the tools after the first of them, or after nothing.
/// Returns how many there were.
pub(crate) fn head(
    messages: &[Message],
    (before, after): (&str, &str),
    page: &mut Page<'_>,
) -> Result<usize, RenderError> {
    if let Some(mode) = page.argument("thinking_mode").filter(|mode| **mode != "chat" && **mode != "thinking")
    {
        return Err(page.conflict("thinking_mode", mode, "\"thinking\" or \"chat\""));
    }
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    for (at, message) in messages[..leading].iter().enumerate() {
        page.text(&message.content.text(), at);
        if at == 0 {
            tools(before, after, page);
        }
    }
    if leading == 0 {
        tools(before, after, page);
    }
    Ok(leading)
}

fn tools(before: &str, after: &str, page: &mut Page<'_>) {
    let tools = &page.scene.setup.tools;
    if tools.is_empty() {
        return;
    }
    page.frame("\n\n");
    page.frame(before);
    for (at, tool) in tools.iter().enumerate() {
        let function: &Value = tool.0.get("function").unwrap_or(&tool.0);
        page.declaration(if at > 0 { "\n" } else { "" }, function, "");
    }
    page.frame(after);
}
