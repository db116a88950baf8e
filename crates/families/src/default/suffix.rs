//! What follows a sampled turn.
//!
//! The invariant: the cost is that of what is new. A short history stands in for the real one; its
//! assistant says one character, and the render is cut after the last place where it does.

use minijinja::Value;
use verbatim_chat::{Arguments, Content, Message, Role};
use verbatim_tokenizer::Piece;
use verbatim_tokens::TokenId;

use super::engine::Frame;
use super::{Templated, locate};
use crate::native::without_first;
use crate::{Extension, FamilyError, Junction, RenderError, Repair, Scene};

/// What the stand-in assistant says, in its content and in its calls, because some templates leave
/// out the one and some the other. Where a tool's declaration says it too, places are counted.
pub(super) const SAID: char = '\u{10f7a4}';

/// A render after a history, cut at what its last assistant said.
pub(super) struct Tail {
    /// What ends that assistant's turn.
    pub(super) close: String,
    /// The new messages and the opener.
    pub(super) rest: String,
}

impl Templated {
    /// Renders `history`, whose last message says [`SAID`], with `new` after it.
    pub(super) fn tail(
        &self,
        context: &Frame,
        history: &[Message],
        new: &[Message],
    ) -> Result<Tail, RenderError> {
        let all = self.prepare(&[history, new].concat())?;
        self.cut(context, all.values(), history.len())
    }

    fn cut(&self, context: &Frame, all: &[Value], history: usize) -> Result<Tail, RenderError> {
        let alone = self.engine.render(context, &all[..history], false)?;
        let whole = self.engine.render(context, all, true)?;
        let refused = |reason: &str| RenderError::Template { reason: reason.to_owned() };
        let place = alone
            .matches(SAID)
            .count()
            .checked_sub(1)
            .ok_or_else(|| refused("it leaves out what an assistant says"))?;
        let after = |text: &str| {
            text.match_indices(SAID).nth(place).map(|(at, _)| text[at + SAID.len_utf8()..].to_owned())
        };
        let lost = || refused("it leaves out what an assistant says when messages follow");
        let (close, tail) = (after(&alone).ok_or_else(lost)?, after(&whole).ok_or_else(lost)?);
        match tail.strip_prefix(&close) {
            Some(rest) => Ok(Tail { rest: rest.to_owned(), close }),
            None => Err(refused("it ends an assistant's turn otherwise when messages follow")),
        }
    }

    /// Learns with which token the template ends a turn.
    pub(super) fn find_end(&mut self) -> Result<(), FamilyError> {
        let setup = verbatim_chat::Setup::default();
        let context = self.context(Scene { setup: &setup, opened: 0 });
        let tail = context
            .and_then(|context| self.tail(&context, &stand_in(&Message::new(Role::Assistant, "")), &[]));
        let tail =
            tail.map_err(|error| FamilyError::Unstable { reason: format!("user, assistant: {error}") })?;
        let pieces = self.splitter.split_at(&tail.close);
        let end = pieces.iter().find_map(|(at, piece)| match piece {
            Piece::Special(id) => Some((*at, *id)),
            Piece::Text(_) => None,
        });
        self.end = end.map(|(_, id)| id);
        self.before_end = tail.close[..end.map_or(tail.close.len(), |(at, _)| at)].to_owned();
        if let Some(id) = self.end {
            self.stop.retain(|stop| *stop != id);
            self.stop.insert(0, id);
        }
        Ok(())
    }

    /// Renders what follows a sampled turn.
    pub(super) fn follow(
        &self,
        scene: Scene<'_>,
        junction: Junction<'_>,
        new: &[Message],
    ) -> Result<Extension, RenderError> {
        let context = self.context(scene)?;
        let prepared = self.prepare(new)?;
        let history = self.prepare(&stand_in(junction.message))?;
        let cut =
            |new: &[Value]| self.cut(&context, &[history.values(), new].concat(), history.values().len());
        let tail = cut(prepared.values())?;
        let shadow = cut(prepared.marked()).ok().map(|tail| tail.rest);
        let last = junction.sampled.last().copied().filter(|id| self.stop.contains(id));
        let end = self.end.and_then(|end| self.last_place(&tail.close, end));
        let (mut text, repair) = match (end, last) {
            (Some((_, after)), Some(last)) if Some(last) == self.end => {
                (tail.close[after..].to_owned(), None)
            }
            (Some((at, _)), last) => {
                let repair = last.map_or(Repair::EndAdded, Repair::OtherStop);
                (format!("{}{}", self.before_end, &tail.close[at..]), Some(repair))
            }
            (None, _) => (self.before_end.clone(), None),
        };
        let offset = text.len();
        text.push_str(&tail.rest);
        let start = self.start(&text);
        let mut stretches = locate::stretches(&tail.rest, shadow.as_deref(), &prepared);
        stretches.iter_mut().for_each(|stretch| stretch.shift(offset));
        let (mut ids, mut sources) = self.encode(&text, &stretches);
        // Where turns have no end of their own, the next opener is what stopped the model: it stays
        // where it was sampled if it is the right one, and else makes way for it (Miles' GLM rule).
        let mut trim = usize::from(self.end.is_none() && last.is_some());
        if trim == 1 && ids.first().copied() == last {
            trim = 0;
            ids.remove(0);
            sources = without_first(&sources);
        }
        Ok(Extension { trim, ids, sources, images: Vec::new(), start, repair })
    }

    /// Where a text spells a token for the last time: at which byte, and up to which.
    fn last_place(&self, text: &str, token: TokenId) -> Option<(usize, usize)> {
        let spelled = self.splitter.spelled(text);
        spelled.into_iter().rev().find(|(_, id)| *id == token).map(|(range, _)| (range.start, range.end))
    }
}

/// A user and an assistant who calls what `message` calls, so that results find their calls.
pub(super) fn stand_in(message: &Message) -> [Message; 2] {
    let mut assistant = Message::new(Role::Assistant, "");
    assistant.tool_calls.clone_from(&message.tool_calls);
    mark(&mut assistant);
    [Message::new(Role::User, Content::from("x")), assistant]
}

/// Makes an assistant say [`SAID`] and nothing else.
pub(super) fn mark(assistant: &mut Message) {
    assistant.content = Content::Text(SAID.to_string());
    for call in &mut assistant.tool_calls {
        call.arguments = Arguments::Text(format!("{{\"x\": \"{SAID}\"}}"));
    }
}
