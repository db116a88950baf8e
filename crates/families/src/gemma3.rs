//! Gemma 3.
//!
//! Rendered as the official template renders, but for these rules; rules 4, 6 and 7 of
//! [`crate::qwen3`] hold here too:
//!
//! 1. People and assistants need not take turns; the official template fails.
//! 2. A system message is shown in the turn of the user's message after it, so one must follow; the
//!    official template fails, or leaves the system's words out where nothing follows.
//! 3. A system message that is not the first is refused; the official template fails, or shows a role
//!    that the model never saw. So none may follow a sampled turn.
//! 4. Tools, calls and results are refused: the format has none. The official template leaves the
//!    declarations and the calls out without a word.
//! 5. What is trimmed is what the template trims, in history: a sampled turn keeps its whitespace.
//!
//! The vocabulary is SentencePiece's, without a space before the first word, and turns begin and end
//! with tokens: what follows a sampled turn has the ids that it has in the whole.

use verbatim_chat::{Message, Role};

use crate::RenderError;
use crate::native::{End, Format, Messages, Page, Said, Switch, Table};
use crate::python::strip;

/// The family.
#[derive(Debug)]
pub(crate) struct Gemma3;

/// The family.
pub(crate) const FORMAT: Gemma3 = Gemma3;

/// Its rules.
const TABLE: Table = Table {
    name: "gemma3",
    markers: &["<bos>", "<start_of_turn>"],
    assistant: "<start_of_turn>model\n",
    end: End::Token("<end_of_turn>", "\n"),
    stop: &["<end_of_turn>", "<eos>"],
    thinking: None,
    calling: None,
    switch: Switch::NONE,
    append: &[Role::User, Role::Assistant],
    fixed: &[],
    parsers: [&[], &[]],
};

impl Format for Gemma3 {
    fn table(&self) -> &'static Table {
        &TABLE
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        if !page.scene.setup.tools.is_empty() {
            let reason = "family gemma3 has no format for tools; declare none, or use family default with a template that has one";
            return Err(RenderError::Template { reason: reason.to_owned() });
        }
        page.frame("<bos>");
        let Some(system) = messages.first().filter(|message| message.role == Role::System) else {
            return Ok(0);
        };
        let Some(user) = messages.get(1).filter(|message| message.role == Role::User) else {
            return Err(page.unsupported(0, "a system message that no user's message follows"));
        };
        page.frame("<start_of_turn>user\n");
        page.text(&system.content.text(), 0);
        page.frame("\n\n");
        page.text(strip(&user.content.text()), 1);
        page.frame("<end_of_turn>\n");
        Ok(2)
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        let message = &messages.new[at];
        match message.role {
            Role::System => return Err(page.unsupported(at, "a system message that is not the first")),
            Role::Tool => return Err(page.unsupported(at, "a tool's result")),
            _ => page.frame("<start_of_turn>user\n"),
        }
        page.text(strip(&message.content.text()), at);
        page.frame("<end_of_turn>\n");
        Ok(())
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        Said::plain(message).map(|text| text, strip)
    }
}
