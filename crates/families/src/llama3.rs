//! Llama 3.1 and 3.3, and 3.2 where the date is given.
//!
//! Rendered as the official template of Llama 3.1 and 3.3 renders, but for these rules; rules 4, 5 and
//! 6 of [`crate::qwen3`] hold here too:
//!
//! 1. Content beside a call stands before it, with `<|python_tag|>` between them, which is how SGLang
//!    reads the two; the official template leaves the content out without a word.
//! 2. Where tools are declared to the user, a user's message must come first; the official template
//!    shows whatever comes first as a user's.
//! 3. `builtin_tools` and `custom_tools` are refused: they call in another format, and stand beside the
//!    request's own tools.
//! 4. A conversation without messages is its system's turn and the opener.
//!
//! More than one call in a turn of history is refused, as the official template refuses it. Llama 3.2's
//! template differs in the date alone, which is today's there: give `date_string`.

use serde_json::Value;
use verbatim_chat::{Message, Role};

use crate::RenderError;
use crate::native::{ALL_ROLES, End, Format, Messages, Page, Said, Switch, Table, is_true};
use crate::parser::calls::LLAMA;
use crate::parser::{Blank, Calling, Gaps};
use crate::python::{Node, Style, dumps, strip};

/// The family.
#[derive(Debug)]
pub(crate) struct Llama3;

/// The family.
pub(crate) const FORMAT: Llama3 = Llama3;

/// Its rules.
const TABLE: Table = Table {
    name: "llama3",
    markers: &["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>"],
    assistant: "<|start_header_id|>assistant<|end_header_id|>\n\n",
    end: End::Token("<|eot_id|>", ""),
    stop: &["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"],
    thinking: None,
    calling: Some(&CALLING),
    switch: Switch::NONE,
    append: ALL_ROLES,
    fixed: &[],
    parsers: [&[], &["llama3"]],
};

/// How it calls.
pub(crate) const CALLING: Calling =
    Calling { format: LLAMA, gaps: Gaps { first: 0, alone: 0, between: 0, last: 0, blank: Blank::Content } };

const TO_USER: &str = "Given the following functions, please respond with a JSON for a function call with its proper \
    arguments that best answers the given prompt.\n\n";

const TO_SYSTEM: &str = "You have access to the following functions. To call a function, please respond with JSON for a function call.";

const RULES: &str = "Respond in the format {\"name\": function name, \"parameters\": dictionary of argument name and its \
    value}.Do not use variables.\n\n";

const DATE: &str = "26 Jul 2024";

impl Format for Llama3 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        for name in ["builtin_tools", "custom_tools"] {
            if let Some(value) = page.argument(name) {
                return Err(page.conflict(name, value, "the request's tools"));
            }
        }
        let system = messages.first().filter(|message| message.role == Role::System);
        let tools = !page.scene.setup.tools.is_empty();
        let to_user = page.argument("tools_in_user_message").is_none_or(is_true);
        page.frame("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n");
        page.frame(if tools { "Environment: ipython\n" } else { "" });
        page.frame("Cutting Knowledge Date: December 2023\nToday Date: ");
        match page.argument("date_string") {
            Some(Value::String(date)) => page.declared(date),
            Some(other) => return Err(page.conflict("date_string", other, "a string")),
            None => page.frame(DATE),
        }
        page.frame("\n\n");
        if tools && !to_user {
            page.frame(TO_SYSTEM);
            declare(page);
        }
        page.text(strip(&system.map(|message| message.content.text()).unwrap_or_default()), 0);
        page.frame("<|eot_id|>");
        let first = usize::from(system.is_some());
        if !tools || !to_user {
            return Ok(first);
        }
        let Some(message) = messages.get(first).filter(|message| message.role == Role::User) else {
            return Err(page.unsupported(first, "tools where no user's message comes first"));
        };
        open(Role::User, page);
        page.frame(TO_USER);
        declare(page);
        page.text(strip(&message.content.text()), first);
        page.frame("<|eot_id|>");
        Ok(first + 1)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        let text = message.content.text();
        open(message.role, page);
        if message.role == Role::Tool {
            let mut quoted = String::new();
            dumps(&Node::Text(text.into_owned()), &Style::default(), &mut quoted);
            page.text(&quoted, at);
        } else {
            page.text(strip(&text), at);
        }
        page.frame("<|eot_id|>");
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message).map(|text| text, strip)
    }
}

fn open(role: Role, page: &mut Page<'_>) {
    page.frame("<|start_header_id|>");
    page.frame(if role == Role::Tool { "ipython" } else { role.as_str() });
    page.frame("<|end_header_id|>\n\n");
}

/// The declarations, each on lines of its own.
fn declare(page: &mut Page<'_>) {
    page.frame(RULES);
    let style = Style { indent: Some(4), item_separator: ",".to_owned(), ..Style::default() };
    for tool in &page.scene.setup.tools {
        let mut text = String::new();
        dumps(&Node::from(&tool.0), &style, &mut text);
        page.declared(&text);
        page.frame("\n\n");
    }
}
