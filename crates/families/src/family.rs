//! What a family can do.

use std::sync::Arc;

use verbatim_chat::{Message, Setup};
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use crate::{Extension, Junction, Outline, Parser, RenderError, Rendered, StartState, Vision};

/// What a conversation is rendered with.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Tools and template arguments.
    pub setup: &'a Setup,
    /// When the session opened, in seconds since the Unix epoch: the only clock a template sees,
    /// so that a session that crosses midnight keeps its prefix.
    pub opened: i64,
}

/// One model family over one tokenizer.
pub trait Family: Send + Sync {
    /// The name it is chosen by.
    fn name(&self) -> &str;

    /// The tokenizer it renders with.
    fn tokenizer(&self) -> &Arc<dyn Tokenizer>;

    /// The ids that end a turn.
    fn stop_ids(&self) -> &[TokenId];

    /// What was found wrong with the template, though not so wrong as to refuse it: the shapes of
    /// conversation in which it rewrites what it rendered before.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Whether what is rendered depends on when the session opened.
    fn reads_clock(&self) -> bool {
        false
    }

    /// How it shows images, if its model reads any.
    fn vision(&self) -> Option<&Vision> {
        None
    }

    /// At most this many sampled tokens of a turn may be replaced by the next turn's opener.
    fn max_trim(&self) -> usize {
        0
    }

    /// Renders a conversation from its beginning, up to and including the opener of the assistant's
    /// next turn.
    ///
    /// # Errors
    /// [`RenderError`] names the message and what cannot be rendered.
    fn open(&self, scene: Scene<'_>, messages: &[Message]) -> Result<Rendered, RenderError>;

    /// Renders what follows a sampled turn: the turn's legal close where the model did not sample
    /// it, the `new` messages, and the opener of the assistant's next turn. `new` may be empty.
    ///
    /// The cost is that of `new`.
    ///
    /// # Errors
    /// [`RenderError`], as for [`Family::open`]; also for roles that may not be appended.
    fn extend(
        &self,
        scene: Scene<'_>,
        junction: Junction<'_>,
        new: &[Message],
    ) -> Result<Extension, RenderError>;

    /// A parser for the turn that starts in `start`. Generated call ids begin with `call_prefix`,
    /// which must be unique to the turn.
    fn parser(&self, scene: Scene<'_>, start: StartState, call_prefix: &str) -> Box<dyn Parser>;

    /// How a turn that begins in `start` is laid out as text: what an engine needs that holds it to a form.
    fn outline(&self, _scene: Scene<'_>, _start: StartState) -> Outline {
        Outline::UNSAID
    }

    /// The ids that a model would sample to say `message` from `start`, stop token included: what a
    /// scripted engine replies, and the way back from [`Parser::finish`].
    ///
    /// # Errors
    /// [`RenderError`] if the family has no spelling for it.
    fn reply(
        &self,
        scene: Scene<'_>,
        start: StartState,
        message: &Message,
    ) -> Result<Vec<TokenId>, RenderError>;
}
