//! Turns whose prompt is ids that the client gave itself.
//!
//! The invariant: the prompt is the client's, id for id. Where it begins with what the session holds, sampled tokens in
//! it are the session's own, known by their position; every other id is an observation.

use std::sync::Arc;

use verbatim_chat::{Content, Message, Role, StartState};
use verbatim_dialects::Invalid;
use verbatim_events::Observed;
use verbatim_families::{Parsed, Parser, Part};
use verbatim_forest::Place;
use verbatim_tokenizer::{Tokenizer, Utf8Stream};
use verbatim_tokens::TokenId;

use crate::prepare::Placed;
use crate::sessions::Shared;
use crate::{Session, TurnError};

/// Ids as a prompt.
#[derive(Clone, Debug)]
pub struct Ids {
    /// The field that holds them.
    pub field: &'static str,
    /// All that the model is to read.
    pub ids: Arc<[TokenId]>,
}

/// Finds the place of ids.
pub(crate) fn place(shared: &Shared, session: &Session, prompt: &Ids) -> Result<Placed, TurnError> {
    let Ids { field, ids } = prompt;
    let engine = shared.engine.capabilities();
    if engine.parses {
        let problem = "this engine reads replies itself and takes conversations only; send messages";
        return Err(Invalid::new(*field, problem).into());
    }
    if ids.is_empty() {
        return Err(Invalid::new(*field, "must hold at least one token").into());
    }
    let vocabulary = engine.vocabulary.min(shared.family.tokenizer().vocabulary());
    if let Some(id) = ids.iter().find(|id| id.0 as usize >= vocabulary) {
        return Err(Invalid::new(
            *field,
            format!("{id} is no token of this model's; ids are below {vocabulary}"),
        )
        .into());
    }
    let (plan, held) = session.with_forest(|forest| {
        let (place, held) = forest.locate(ids);
        forest.plan(place, 0).map(|plan| (plan, held))
    })?;
    let observed = match plan.place {
        Place::Again(node) => Observed::Shared(node),
        Place::Root | Place::After(_) => Observed::Ids(ids[held..].into()),
    };
    let (setup, start) = (Arc::default(), StartState::Content);
    Ok(Placed { plan, observed, prompt: Arc::clone(ids), setup, start })
}

/// A parser that takes everything for content.
pub(crate) struct Plain {
    tokenizer: Arc<dyn Tokenizer>,
    /// What ends a turn and says nothing.
    stop: Vec<TokenId>,
    utf8: Utf8Stream,
    content: String,
}

impl Plain {
    pub(crate) fn new(tokenizer: Arc<dyn Tokenizer>, stop: Vec<TokenId>) -> Self {
        Self { tokenizer, stop, utf8: Utf8Stream::default(), content: String::new() }
    }

    fn say(&mut self, text: String, out: &mut Vec<Part>) {
        if !text.is_empty() {
            self.content.push_str(&text);
            out.push(Part::Content(text));
        }
    }
}

impl Parser for Plain {
    fn push(&mut self, ids: &[TokenId], out: &mut Vec<Part>) {
        let mut text = String::new();
        for id in ids.iter().filter(|id| !self.stop.contains(id)) {
            self.utf8.push(self.tokenizer.bytes(*id), &mut text);
        }
        self.say(text, out);
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<Part>) -> Parsed {
        let mut text = String::new();
        self.utf8.finish(&mut text);
        self.say(text, out);
        let message = Message::new(Role::Assistant, Content::Text(self.content));
        Parsed { message, flaws: Vec::new(), reasoning_tokens: 0 }
    }
}
