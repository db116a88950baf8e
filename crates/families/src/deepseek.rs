//! DeepSeek V3.2 and V4.
//!
//! Rendered as the templates that llama.cpp carries render, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. A think block stays when a later user speaks (`drop_thinking`, which V4's template has and
//!    V3.2's lacks, is fixed to `false`).
//! 2. A system message that does not stand before all others is refused: the templates move it to
//!    the beginning, which changes what was there. So none may follow a sampled turn.
//! 3. V3.2: an assistant's turn that follows another's has an opener like any other; the template
//!    leaves it out, and out of the prompt, too.
//! 4. V3.2: where the model is not to think, the prompt closes the think block as history does; the
//!    template opens and closes it there.
//! 5. V3.2: results follow their call, one for each call, or are refused; the template leaves their
//!    frame open, or writes a second one.
//! 6. A tool that is declared without `type` and `function` around it is shown; the templates leave
//!    it out without a word.
//!
//! A model thinks where `thinking`, else `enable_thinking`, says so.

use serde_json::Value;
use verbatim_chat::{Message, Role, StartState};

use crate::RenderError;
use crate::native::{End, Format, Messages, NO_SYSTEM, Off, Page, Said, Switch, Table};
use crate::parser::calls::{DSML_FUNCTIONS, DSML_TOOLS};
use crate::parser::{BARE, Blank, Calling, Gaps};

/// One of the two.
#[derive(Debug)]
pub(crate) struct DeepSeek {
    table: &'static Table,
    tools: [&'static str; 2],
    /// Whether people's words and tools' results share a turn (V4).
    folds: bool,
}

/// DeepSeek V3.2.
pub(crate) const V32: DeepSeek =
    DeepSeek { table: &TABLE, tools: [V32_BEFORE, "</functions>\n"], folds: false };

/// DeepSeek V4.
pub(crate) const V4: DeepSeek = DeepSeek { table: &TABLE_V4, tools: [V4_BEFORE, V4_AFTER], folds: true };

const GAPS: Gaps = Gaps { first: 2, alone: 2, between: 0, last: 0, blank: Blank::Content };

const TABLE: Table = Table {
    name: "deepseekv32",
    markers: &["<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "｜DSML｜"],
    assistant: "<｜Assistant｜>",
    end: End::Token("<｜end▁of▁sentence｜>", ""),
    stop: &["<｜end▁of▁sentence｜>"],
    thinking: Some(&BARE),
    calling: Some(&Calling { format: DSML_FUNCTIONS, gaps: GAPS }),
    switch: Switch {
        on: ("<think>", StartState::Reasoning),
        off: "</think>",
        by: Off::Falsy,
        names: &["thinking", "enable_thinking"],
        unasked: false,
        muted: Some("</think>"),
    },
    append: NO_SYSTEM,
    fixed: &[("drop_thinking", false)],
    parsers: [&["deepseek-v3"], &["deepseekv32"]],
};

const TABLE_V4: Table = Table {
    name: "deepseekv4",
    calling: Some(&Calling { format: DSML_TOOLS, gaps: GAPS }),
    parsers: [&["deepseek-v4"], &["deepseekv4"]],
    ..TABLE
};

const V32_BEFORE: &str = "## Tools\n\nYou have access to a set of tools you can use to answer the user's question.\n\
    You can invoke functions by writing a \"<｜DSML｜function_calls>\" block like the following as part of your reply \
    to the user:\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"$FUNCTION_NAME\">\n<｜DSML｜parameter \
    name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE</｜DSML｜parameter>\n...\n</｜DSML｜invoke>\n\
    <｜DSML｜invoke name=\"$FUNCTION_NAME2\">\n...\n</｜DSML｜invoke>\n</｜DSML｜function_calls>\n\nString and scalar \
    parameters should be specified as is without any escaping or quotes, while lists and objects should use JSON \
    format. The \"string\" attribute should be set to \"true\" for string type parameters and \"false\" for other types \
    (numbers, booleans, arrays, objects).\n\nIf the thinking_mode is enabled, then after function results you should \
    strongly consider outputting a thinking block. Here is an example:\n\n<｜DSML｜function_calls>\n...\n\
    </｜DSML｜function_calls>\n\n<function_results>\n...\n</function_results>\n\n<think>...thinking about \
    results</think>\n\nHere are the functions available in JSONSchema format:\n<functions>\n";

const V4_BEFORE: &str = "## Tools\n\nYou have access to a set of tools to help answer the user's question. You can \
    invoke tools by writing a \"<｜DSML｜tool_calls>\" block like the following:\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke \
    name=\"$TOOL_NAME\">\n<｜DSML｜parameter name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE\
    </｜DSML｜parameter>\n...\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"$TOOL_NAME2\">\n...\n</｜DSML｜invoke>\n\
    </｜DSML｜tool_calls>\n\nString parameters should be specified as is and set `string=\"true\"`. For all other types \
    (numbers, booleans, arrays, objects), pass the value in JSON format and set `string=\"false\"`.\n\nIf thinking_mode \
    is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any \
    tool calls or final response.\n\nOtherwise, output directly after </think> with tool calls or final response.\n\n\
    ### Available Tool Schemas\n\n";

const V4_AFTER: &str =
    "\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n";

const EFFORT: &str = "Reasoning Effort: Absolute maximum with no shortcuts permitted.\nYou MUST be very thorough in your \
    thinking and comprehensively decompose the problem to resolve the root cause, rigorously stress-testing your logic \
    against all potential paths, edge cases, and adversarial scenarios.\nExplicitly write out your entire deliberation \
    process, documenting every intermediate step, considered alternative, and rejected hypothesis to ensure absolutely \
    no assumption is left unchecked.\n\n";

impl Format for DeepSeek {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        page.frame("<｜begin▁of▁sentence｜>");
        let effort = page.argument("reasoning_effort").and_then(Value::as_str);
        if self.folds && effort == Some("max") && page.thinks() && !messages.is_empty() {
            page.frame(EFFORT);
        }
        let systems = messages.iter().take_while(|message| message.role == Role::System);
        let mut said = false;
        for (at, message) in systems.clone().enumerate() {
            page.frame(if at > 0 { "\n\n" } else { "" });
            page.text(&message.content.text(), at);
            said |= at > 0 || !message.content.text().is_empty();
        }
        if !page.scene.setup.tools.is_empty() {
            page.frame(if said { "\n\n" } else { "" });
            page.frame(self.tools[0]);
            for tool in &page.scene.setup.tools {
                page.declaration("", tool.0.get("function").unwrap_or(&tool.0), "\n");
            }
            page.frame(self.tools[1]);
        }
        Ok(systems.count())
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        let previous = messages.previous(at).map(|message| message.role);
        if message.role == Role::System {
            return Err(page.unsupported(at, "a system message that is not the first"));
        }
        if message.role == Role::Tool && !self.folds {
            return result(messages, at, &text, page);
        }
        let shared = self.folds && matches!(previous, Some(Role::User | Role::Tool));
        page.frame(if shared { "\n\n" } else { "<｜User｜>" });
        let around = if message.role == Role::Tool { ["<tool_result>", "</tool_result>"] } else { [""; 2] };
        page.frame(around[0]);
        page.text(&text, at);
        page.frame(around[1]);
        Ok(())
    }

    fn opener(&self, previous: Option<&Message>) -> &'static str {
        let after_results = previous.is_some_and(|message| message.role == Role::Tool);
        if after_results && !self.folds { "\n\n" } else { self.table.assistant }
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }
}

/// A result in V3.2's frame around all results of a turn's calls.
fn result(messages: Messages<'_>, at: usize, text: &str, page: &mut Page<'_>) -> Result<(), RenderError> {
    let before = messages.new[..at].iter().rev().take_while(|message| message.role == Role::Tool).count();
    let caller = messages.previous(at - before).filter(|message| message.role == Role::Assistant);
    let calls = caller.map_or(0, |message| message.tool_calls.len());
    if before >= calls {
        return Err(page.unsupported(at, "a tool's result that follows no call of its own"));
    }
    let last = messages.next(at).is_none_or(|message| message.role != Role::Tool);
    if last && before + 1 < calls {
        return Err(page.unsupported(at, "fewer results than calls"));
    }
    page.frame(if before == 0 { "\n\n<function_results>" } else { "" });
    page.frame("\n<result>");
    page.text(text, at);
    page.frame("</result>");
    page.frame(if last { "\n</function_results>" } else { "" });
    Ok(())
}
