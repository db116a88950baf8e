//! DeepSeek V3.2.
//!
//! Its official encoder is a Python program (`encoding_dsv32.py`). Rendered as that program renders,
//! as SGLang calls it, but for these rules; rules 4 and 6 of [`crate::qwen3`] hold here too:
//!
//! 1. `drop_thinking` is fixed to `false`: what was thought stays when a later user speaks, and a
//!    turn without thought or calls has an empty block. The program keeps thought after the last
//!    user's message only, and fails on a turn there that has none (Miles §4.3).
//! 2. An assistant's turn is opened where one follows. The program opens one after each user's
//!    message and each block of results, even if somebody else speaks next, and none after a system
//!    message or another assistant's turn.
//! 3. A block of results is closed where no further result follows. The program leaves it open if
//!    a call has no result.
//! 4. A tool that is declared without `function` around it is shown; the program fails.
//! 5. A later system message must stand between an assistant's turn and a user's message: the
//!    program writes its bare text, which elsewhere would be somebody else's.
//! 6. Thinking is on unless `thinking_mode`, `enable_thinking` or `thinking` says otherwise; where
//!    several are given they must agree. The program has no default.
//!
//! The words about tools are those of the program's copies in SGLang and vLLM. The template that
//! llama.cpp carries has empty lines between their paragraphs; which of the two the model was trained
//! on cannot be told here.

use verbatim_chat::{Message, Role};

use crate::native::{ALL_ROLES, Format, Messages, Page, Said, Table};
use crate::parser::calls::DSML_V32;
use crate::parser::{Blank, Calling, Gaps};
use crate::{RenderError, deepseek};

/// The family.
#[derive(Debug)]
pub(crate) struct DeepSeekV32;

/// The family.
pub(crate) const FORMAT: DeepSeekV32 = DeepSeekV32;

/// Its rules.
const TABLE: Table = Table {
    name: "deepseekv32",
    calling: Some(&CALLING),
    append: ALL_ROLES,
    parsers: [&["deepseek-v3"], &["deepseekv32"]],
    ..deepseek::TABLE
};

/// How it calls.
pub(crate) const CALLING: Calling = Calling {
    format: DSML_V32,
    gaps: Gaps { first: 2, alone: 2, between: 0, last: 0, blank: Blank::Content },
};

const TOOLS_BEFORE: &str = "## Tools\nYou have access to a set of tools you can use to answer the user's question.\n\
    You can invoke functions by writing a \"<｜DSML｜function_calls>\" block like the following as part of your reply \
    to the user:\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"$FUNCTION_NAME\">\n<｜DSML｜parameter \
    name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE</｜DSML｜parameter>\n...\n</｜DSML｜invoke>\n\
    <｜DSML｜invoke name=\"$FUNCTION_NAME2\">\n...\n</｜DSML｜invoke>\n</｜DSML｜function_calls>\nString and scalar \
    parameters should be specified as is without any escaping or quotes, while lists and objects should use JSON \
    format. The \"string\" attribute should be set to \"true\" for string type parameters and \"false\" for other \
    types (numbers, booleans, arrays, objects).\nIf the thinking_mode is enabled, then after function results you \
    should strongly consider outputting a thinking block. Here is an example:\n<｜DSML｜function_calls>\n...\n\
    </｜DSML｜function_calls>\n<function_results>\n...\n</function_results>\n<think>...thinking about results\
    </think>\nHere are the functions available in JSONSchema format:\n<functions>\n";

const TOOLS_AFTER: &str = "\n</functions>\n";

impl Format for DeepSeekV32 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        page.frame("<｜begin▁of▁sentence｜>");
        deepseek::head(messages, (TOOLS_BEFORE, TOOLS_AFTER), page)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        let previous = messages.previous(at).map(|message| message.role);
        let next = messages.next(at).map(|message| message.role);
        match message.role {
            Role::System => {
                let between = matches!(previous, Some(Role::Assistant | Role::System))
                    && matches!(next, Some(Role::User | Role::System));
                if !between {
                    let what =
                        "a later system message that does not stand between an assistant's and a user's";
                    return Err(page.unsupported(at, what));
                }
                page.text(&text, at);
            }
            Role::Tool => {
                if answered(messages, at).is_none() {
                    return Err(page.unsupported(at, "a tool's result where nothing was called"));
                }
                page.frame(if previous == Some(Role::Tool) { "" } else { "\n\n<function_results>" });
                page.frame("\n<result>");
                page.text(&text, at);
                page.frame("</result>");
                page.frame(if next == Some(Role::Tool) { "" } else { "\n</function_results>" });
            }
            _ => {
                page.frame("<｜User｜>");
                page.text(&text, at);
            }
        }
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message)
    }

    fn opener(&self, previous: Option<&Message>) -> &'static str {
        match previous {
            Some(message) if message.role == Role::Tool => "\n\n",
            _ => TABLE.assistant,
        }
    }

    fn spoken(&self) -> Option<&'static [&'static str]> {
        Some(deepseek::SPOKEN)
    }
}

/// Which of the calls before it the result at `at` answers: they are told by their order.
fn answered(messages: Messages<'_>, at: usize) -> Option<usize> {
    let results = messages.new[..at].iter().rev().take_while(|message| message.role == Role::Tool).count();
    let caller = messages.previous(at - results).filter(|message| message.role == Role::Assistant)?;
    (results < caller.tool_calls.len()).then_some(results)
}
