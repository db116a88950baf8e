//! The frames that ChatML families share.
//!
//! The invariant: a frame is written in one place, whatever number of families have it.

use verbatim_chat::{Message, Role};

use crate::RenderError;
use crate::native::{End, Messages, Page};

/// How turns end.
pub(crate) const END: End = End::Token("<|im_end|>", "\n");

/// What ends a turn.
pub(crate) const STOP: &[&str] = &["<|im_end|>", "<|endoftext|>"];

/// What opens an assistant's turn.
pub(crate) const ASSISTANT: &str = "<|im_start|>assistant\n";

/// How tools are declared for Hermes' calls, before the declarations. Models were trained on these
/// very words.
const HERMES_BEFORE: &str = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
    You are provided with function signatures within <tools></tools> XML tags:\n<tools>";

/// The same, after them.
const HERMES_AFTER: &str = "\n</tools>\n\nFor each function call, return a json object with function name and \
    arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": \
    <args-json-object>}\n</tool_call>";

/// How Qwen3-Coder's calls are to be written; Qwen3.5 and Nemotron 3 say the same.
pub(crate) const CODER_RULES: &str = "\n\nIf you choose to call a function ONLY reply in the following format with NO \
    suffix:\n\n<tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n\
    <parameter=example_parameter_2>\nThis is the value for the second parameter\nthat can span\nmultiple lines\n\
    </parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n- Function calls MUST follow the specified \
    format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags\n\
    - Required parameters MUST be specified\n- You may provide optional reasoning for your function call in natural \
    language BEFORE the function call, but NOT after\n- If there is no function call available, answer the question \
    like normal with your current knowledge and do not tell the user about function calls\n</IMPORTANT>";

/// Opens a turn of a role.
pub(crate) fn open(role: Role, page: &mut Page<'_>) {
    page.frame("<|im_start|>");
    page.frame(role.as_str());
    page.frame("\n");
}

/// Ends a turn.
pub(crate) fn close(page: &mut Page<'_>) {
    page.frame("<|im_end|>\n");
}

/// A system's or a user's turn.
pub(crate) fn turn(role: Role, text: &str, at: usize, page: &mut Page<'_>) {
    open(role, page);
    page.text(text, at);
    close(page);
}

/// A tool's result as text, inside a user's turn that results which follow one another share. `lines` are
/// what stands after that turn's opener, before the result and after it.
pub(crate) fn result(messages: Messages<'_>, at: usize, text: &str, lines: [&str; 3], page: &mut Page<'_>) {
    open_result(messages, at, lines, page);
    page.text(text, at);
    close_result(messages, at, lines, page);
}

fn is_result(message: Option<&Message>) -> bool {
    message.is_some_and(|message| message.role == Role::Tool)
}

/// What stands before a tool's result.
pub(crate) fn open_result(messages: Messages<'_>, at: usize, lines: [&str; 3], page: &mut Page<'_>) {
    if !is_result(messages.previous(at)) {
        page.frame("<|im_start|>user");
        page.frame(lines[0]);
    }
    page.frame(lines[1]);
}

/// What stands after it.
pub(crate) fn close_result(messages: Messages<'_>, at: usize, lines: [&str; 3], page: &mut Page<'_>) {
    page.frame(lines[2]);
    if !is_result(messages.next(at)) {
        close(page);
    }
}

/// The lines around a result in Qwen's templates.
pub(crate) const QWEN_RESULT: [&str; 3] = ["", "\n<tool_response>\n", "\n</tool_response>"];

/// Declared tools, one line of JSON each, as they were declared, key for key. Miles completes them
/// to SGLang's model of a tool first (§4.1), which changes the prompt.
pub(crate) fn declarations(page: &mut Page<'_>) {
    for tool in &page.scene.setup.tools {
        page.declaration("\n", &tool.0, "");
    }
}

/// The system's turn of Qwen2.5 and Qwen3: the first system message or these default words, then
/// the tools. Returns how many messages it took in.
pub(crate) fn hermes_head(default: Option<&str>, messages: &[Message], page: &mut Page<'_>) -> usize {
    let first = messages.first().filter(|message| message.role == Role::System);
    let tools = !page.scene.setup.tools.is_empty();
    let default = default.filter(|_| !messages.is_empty() || tools);
    if first.is_none() && default.is_none() && !tools {
        return 0;
    }
    open(Role::System, page);
    match (first, default) {
        (Some(message), _) => page.text(&message.content.text(), 0),
        (None, Some(default)) => page.frame(default),
        (None, None) => {}
    }
    if tools {
        page.frame(if first.is_some() || default.is_some() { "\n\n" } else { "" });
        page.frame(HERMES_BEFORE);
        declarations(page);
        page.frame(HERMES_AFTER);
    }
    close(page);
    usize::from(first.is_some())
}

/// A message that is no assistant's, as Qwen2.5 and Qwen3 have it.
pub(crate) fn message(messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
    let message = &messages.new[at];
    if message.role == Role::Tool {
        open_result(messages, at, QWEN_RESULT, page);
        page.content(&message.content, at)?;
        close_result(messages, at, QWEN_RESULT, page);
    } else {
        open(message.role, page);
        page.content(&message.content, at)?;
        close(page);
    }
    Ok(())
}
