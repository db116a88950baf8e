//! What ChatML families with Hermes' calls share.

use verbatim_chat::Message;

use crate::native::{Format, Messages, Page, Said, Table};
use crate::parser::calls::HERMES;
use crate::parser::{Blank, Calling, Gaps};
use crate::{Patches, RenderError, chatml};

/// A newline before each call, but for one that begins the turn.
const GAPS: Gaps = Gaps { first: 1, alone: 0, between: 1, last: 0, blank: Blank::Content };

/// The calls of a family without reasoning.
pub(crate) const CALLING: Calling = Calling { format: HERMES, gaps: GAPS };

/// The calls of a family with it: newlines that begin its content are left out, but still count as
/// content before a call.
pub(crate) const THINKING_CALLING: Calling =
    Calling { format: HERMES, gaps: Gaps { blank: Blank::Gap, ..GAPS } };

/// SGLang's names for the parser of such calls.
pub(crate) const CALL_PARSERS: &[&str] = &["qwen25", "qwen", "hermes"];

/// One such family.
#[derive(Debug)]
pub(crate) struct Hermes {
    /// Its rules.
    pub(crate) table: &'static Table,
    /// What the system says where no system message comes first.
    pub(crate) system: Option<&'static str>,
    /// How its models' image processor cuts images, if they read images.
    pub(crate) patches: Option<Patches>,
}

impl Format for Hermes {
    fn table(&self) -> &'static Table {
        self.table
    }

    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError> {
        Ok(chatml::hermes_head(self.system, messages, page))
    }

    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        chatml::message(messages, at, page)
    }

    fn patches(&self) -> Option<Patches> {
        self.patches
    }

    fn said<'m>(&self, message: &'m Message) -> Said<'m> {
        if self.table.thinking.is_none() {
            return Said::plain(message);
        }
        let said = Said::unfolded(message, message.content.text());
        // Newlines that begin content are left out, but still count as content before a call.
        let gap = if message.tool_calls.is_empty() || said.content.is_empty() { "" } else { "\n" };
        said.map(
            |text| text.trim_matches('\n'),
            |text| match text.trim_start_matches('\n') {
                "" => gap,
                rest => rest,
            },
        )
    }
}
