//! Families that speak ChatML with Hermes-style calls.
//!
//! The invariant: a [`Table`] says everything in which two of them differ; the scanner over it
//! renders each, id for id, as its official template does under the table's rules.

mod body;
mod render;
mod table;

use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_chat::{Message, StartState};
use verbatim_tokenizer::{SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

pub(crate) use table::{ALL_ROLES, Table};

use crate::arguments::Arguments;
use crate::parser::{CallParser, Grammar, ReasoningParser, TurnParser};
use crate::script::Script;
use crate::{Extension, Family, FamilyError, Junction, Parser, RenderError, Rendered, Scene, Source};

/// A ChatML family over one tokenizer.
pub(crate) struct ChatMl {
    table: &'static Table,
    tokenizer: Arc<dyn Tokenizer>,
    arguments: Arguments,
    /// `<|im_start|>`.
    open: TokenId,
    /// `<|im_end|>`.
    close: TokenId,
    /// The close first, then what else ends a turn.
    stop: Vec<TokenId>,
    /// Tokens that a model writes as part of what it says.
    markers: SpecialSplitter,
    grammar: Arc<Grammar>,
}

impl ChatMl {
    /// Sets the family up.
    pub(crate) fn new(
        table: &'static Table,
        tokenizer: Arc<dyn Tokenizer>,
        fixed: &Map<String, Value>,
    ) -> Result<Self, FamilyError> {
        let need = |token: &str| {
            let missing = || FamilyError::Token { family: table.name.to_owned(), token: token.to_owned() };
            tokenizer.special(token).ok_or_else(missing)
        };
        let (open, close) = (need("<|im_start|>")?, need("<|im_end|>")?);
        table.markers.iter().try_for_each(|token| need(token).map(drop))?;
        let mut stop = vec![close];
        stop.extend(tokenizer.special("<|endoftext|>"));
        let own: Vec<(&str, Value)> =
            if table.think { vec![("clear_thinking", Value::Bool(false))] } else { Vec::new() };
        let reasoning = if table.think { ReasoningParser::Qwen3 } else { ReasoningParser::None };
        Ok(Self {
            table,
            arguments: Arguments::new(table.name, &own, fixed)?,
            open,
            close,
            markers: SpecialSplitter::new(&*tokenizer, |added| !added.control),
            grammar: Arc::new(Grammar::new(&*tokenizer, &stop, reasoning, CallParser::Hermes)),
            stop,
            tokenizer,
        })
    }
}

impl Family for ChatMl {
    fn name(&self) -> &str {
        self.table.name
    }

    fn tokenizer(&self) -> &Arc<dyn Tokenizer> {
        &self.tokenizer
    }

    fn stop_ids(&self) -> &[TokenId] {
        &self.stop
    }

    fn open(&self, scene: Scene<'_>, messages: &[Message]) -> Result<Rendered, RenderError> {
        self.arguments.check(scene.setup)?;
        let mut script = Script::new(&*self.tokenizer);
        let rest = self.head(scene, messages, &mut script);
        self.messages(messages, rest, &mut script)?;
        let start = self.prompt(scene, &mut script);
        let (ids, sources) = script.finish();
        Ok(Rendered { ids, sources, start })
    }

    fn extend(
        &self,
        scene: Scene<'_>,
        junction: Junction<'_>,
        new: &[Message],
    ) -> Result<Extension, RenderError> {
        self.arguments.check(scene.setup)?;
        if let Some(at) = new.iter().position(|message| !self.table.append.contains(&message.role)) {
            return Err(RenderError::Role {
                message: at,
                role: new[at].role,
                family: self.name().to_owned(),
            });
        }
        let mut script = Script::new(&*self.tokenizer);
        let repair = self.junction(junction, &mut script);
        self.messages(new, 0, &mut script)?;
        let start = self.prompt(scene, &mut script);
        let (ids, sources) = script.finish();
        Ok(Extension { trim: 0, ids, sources, start, repair })
    }

    fn parser(&self, scene: Scene<'_>, start: StartState, call_prefix: &str) -> Box<dyn Parser> {
        let calls = !scene.setup.tools.is_empty();
        Box::new(TurnParser::new(
            Arc::clone(&self.tokenizer),
            Arc::clone(&self.grammar),
            start,
            calls,
            call_prefix,
        ))
    }

    fn reply(
        &self,
        scene: Scene<'_>,
        start: StartState,
        message: &Message,
    ) -> Result<Vec<TokenId>, RenderError> {
        self.arguments.check(scene.setup)?;
        let mut script = Script::new(&*self.tokenizer);
        self.say(scene, start, message, &mut script)?;
        script.special(self.close, Source::Message(0));
        Ok(script.finish().0)
    }
}
