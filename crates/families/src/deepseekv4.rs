//! DeepSeek V4.
//!
//! Its official encoder is a Python program (`encoding_dsv4.py`). Rendered as that program renders,
//! as SGLang calls it, but for these rules; rules 4 and 6 of [`crate::qwen3`] hold here too:
//!
//! 1. `drop_thinking` is fixed to `false`, which the program knows: what was thought stays.
//! 2. An assistant's turn has its opener even where none of a user's messages or results stands
//!    before it; the program opens it after those only.
//! 3. A tool that is declared without `function` around it is shown; the program fails.
//! 4. A system message that is not at the beginning is refused: the program writes its bare text
//!    into whatever stands before it (Miles §4.2 excludes it, too).
//! 5. Results are put into the order of the calls of the turn right before them. The program looks
//!    further back where that turn called nothing.
//! 6. Thinking is on unless `thinking_mode`, `enable_thinking` or `thinking` says otherwise; where
//!    several are given they must agree. The program has no default.
//!
//! Messages of users and results that follow one another share a turn. `reasoning_effort` may be
//! `high`, which is the default, or `max`.

use verbatim_chat::{Message, Role};

use crate::native::{Format, Messages, NO_SYSTEM, Page, Said, Table, is_true};
use crate::parser::calls::DSML_V4;
use crate::parser::{Blank, Calling, Gaps};
use crate::{RenderError, deepseek};

/// The family.
#[derive(Debug)]
pub(crate) struct DeepSeekV4;

/// The family.
pub(crate) const FORMAT: DeepSeekV4 = DeepSeekV4;

/// Its rules.
const TABLE: Table = Table {
    name: "deepseekv4",
    calling: Some(&CALLING),
    append: NO_SYSTEM,
    parsers: [&["deepseek-v4"], &["deepseekv4"]],
    ..deepseek::TABLE
};

/// How it calls.
pub(crate) const CALLING: Calling = Calling {
    format: DSML_V4,
    gaps: Gaps { first: 2, alone: 2, between: 0, last: 0, blank: Blank::Content },
};

const TOOLS_BEFORE: &str = "## Tools\n\nYou have access to a set of tools to help answer the user's question. You can \
    invoke tools by writing a \"<｜DSML｜tool_calls>\" block like the following:\n\n<｜DSML｜tool_calls>\n\
    <｜DSML｜invoke name=\"$TOOL_NAME\">\n<｜DSML｜parameter name=\"$PARAMETER_NAME\" \
    string=\"true|false\">$PARAMETER_VALUE</｜DSML｜parameter>\n...\n</｜DSML｜invoke>\n<｜DSML｜invoke \
    name=\"$TOOL_NAME2\">\n...\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>\n\nString parameters should be specified as \
    is and set `string=\"true\"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON \
    format and set `string=\"false\"`.\n\nIf thinking_mode is enabled (triggered by <think>), you MUST output your \
    complete reasoning inside <think>...</think> BEFORE any tool calls or final response.\n\nOtherwise, output \
    directly after </think> with tool calls or final response.\n\n### Available Tool Schemas\n\n";

const TOOLS_AFTER: &str = "\n\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke \
    tool calls.\n";

const MAX_EFFORT: &str = "Reasoning Effort: Absolute maximum with no shortcuts permitted.\nYou MUST be very thorough \
    in your thinking and comprehensively decompose the problem to resolve the root cause, rigorously stress-testing \
    your logic against all potential paths, edge cases, and adversarial scenarios.\nExplicitly write out your entire \
    deliberation process, documenting every intermediate step, considered alternative, and rejected hypothesis to \
    ensure absolutely no assumption is left unchecked.\n\n";

impl Format for DeepSeekV4 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        page.frame("<｜begin▁of▁sentence｜>");
        match page.argument("reasoning_effort") {
            Some(effort) if *effort == "max" => page.frame(if page.thinks() { MAX_EFFORT } else { "" }),
            Some(effort) if is_true(effort) && *effort != "high" => {
                return Err(page.conflict("reasoning_effort", effort, "\"high\" or \"max\""));
            }
            _ => {}
        }
        deepseek::head(messages, (TOOLS_BEFORE, TOOLS_AFTER), page)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let is_users =
            |message: Option<&Message>| message.is_some_and(|m| matches!(m.role, Role::User | Role::Tool));
        if messages.new[at].role == Role::System {
            return Err(page.unsupported(at, "a system message that is not at the beginning"));
        }
        page.frame(if is_users(messages.previous(at)) { "\n\n" } else { "<｜User｜>" });
        if messages.new[at].role == Role::Tool {
            let from = sorted(messages, at);
            page.frame("<tool_result>");
            page.text(&messages.new[from].content.text(), from);
            page.frame("</tool_result>");
        } else {
            page.text(&messages.new[at].content.text(), at);
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }

    fn spoken(&self) -> Option<&'static [&'static str]> {
        Some(deepseek::SPOKEN)
    }
}

/// Which result stands in the place of the one at `at`: those of one turn are in the order of the
/// calls that they answer.
fn sorted(messages: Messages<'_>, at: usize) -> usize {
    let is_users = |message: &Message| matches!(message.role, Role::User | Role::Tool);
    let start = at - messages.new[..at].iter().rev().take_while(|message| is_users(message)).count();
    let run = messages.new.iter().enumerate().skip(start).take_while(|(_, message)| is_users(message));
    let mut results: Vec<usize> =
        run.filter(|(_, message)| message.role == Role::Tool).map(|(at, _)| at).collect();
    let nth = results.iter().position(|result| *result == at).unwrap_or_default();
    let calls = messages.previous(start).map(|message| message.tool_calls.as_slice()).unwrap_or_default();
    let place = |result: &usize| {
        let id = messages.new[*result].tool_call_id.as_deref().unwrap_or_default();
        calls.iter().rposition(|call| call.id.as_deref() == Some(id)).unwrap_or_default()
    };
    results.sort_by_key(place);
    results.get(nth).copied().unwrap_or(at)
}
