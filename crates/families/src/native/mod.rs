//! Families that render natively.
//!
//! The invariant: a [`Table`] says everything in which two of them differ that needs no code, a
//! [`Format`] the rest; the scanner over both renders each, id for id, as its official template
//! does under the family's rules, and reads what it writes.

mod body;
mod images;
mod junction;
mod page;
mod table;

use std::sync::Arc;

use serde_json::Value;
use verbatim_chat::{Message, Role, StartState};
use verbatim_tokenizer::{SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

pub(crate) use body::{Said, Thought};
pub(crate) use junction::without_first;
pub(crate) use page::{Messages, Page};
pub(crate) use table::{ALL_ROLES, End, NO_SYSTEM, Off, Switch, Table, is_true};

use crate::arguments::Arguments;
use crate::parser::channels::{ChannelParser, Channels, Cuts};
use crate::parser::{Grammar, TurnParser};
use crate::script::Written;
use crate::{
    Extension, Family, FamilyError, Junction, Options, Outline, Parser, Patches, RenderError, Rendered,
    Scene, Vision,
};

/// What a family says in its own words.
pub(crate) trait Format: Send + Sync {
    /// Its rules.
    fn table(&self) -> &'static Table;

    /// Whether what it renders depends on when the session opened.
    fn reads_clock(&self) -> bool {
        false
    }

    /// Writes what stands before the first turn: the system's words and the tools. Returns how many
    /// messages it took in.
    ///
    /// # Errors
    /// [`RenderError`] for declarations that the family cannot show.
    fn head(&self, messages: &[Message], page: &mut Page<'_>) -> Result<usize, RenderError>;

    /// Writes a message that is no assistant's.
    ///
    /// # Errors
    /// [`RenderError`] for one that the family cannot show there.
    fn message(&self, messages: Messages<'_>, at: usize, page: &mut Page<'_>) -> Result<(), RenderError>;

    /// What opens an assistant's turn after a message.
    fn opener(&self, _previous: Option<&Message>) -> &'static str {
        self.table().assistant
    }

    /// Takes an assistant's message apart as the template does.
    fn said<'m>(&self, message: &'m Message) -> Said<'m>;

    /// How turns are cut into messages, where they are.
    fn channels(&self) -> Option<&'static dyn Channels> {
        None
    }

    /// How its models' image processor cuts images, where they read images.
    fn patches(&self) -> Option<Patches> {
        None
    }

    /// The tokens that a model writes as part of what it says; `None` where the vocabulary says so
    /// by not calling them special.
    fn spoken(&self) -> Option<&'static [&'static str]> {
        None
    }
}

/// A native family over one tokenizer.
pub(crate) struct Native {
    format: &'static dyn Format,
    table: &'static Table,
    tokenizer: Arc<dyn Tokenizer>,
    arguments: Arguments,
    /// What ends a turn, the template's own first.
    stop: Vec<TokenId>,
    /// Where turns end with the next one's opener: those openers.
    openers: Vec<TokenId>,
    /// Where turns end with one token or another: the one after what was said, the one after calls.
    ends: Option<[TokenId; 2]>,
    /// Every added token.
    all: SpecialSplitter,
    /// Tokens that a model writes as part of what it says.
    markers: SpecialSplitter,
    grammar: Arc<Grammar>,
    /// Where turns are cut into messages: at these tokens.
    cuts: Arc<Cuts>,
    /// How images are shown, where the format has a place for them and the vocabulary their tokens.
    vision: Option<Vision>,
}

impl Native {
    /// Sets the family up.
    pub(crate) fn new(
        format: &'static dyn Format,
        tokenizer: Arc<dyn Tokenizer>,
        options: &Options,
    ) -> Result<Self, FamilyError> {
        let table = format.table();
        let named = |name: &str, given: &Option<String>, known: &[&str]| match given.as_deref() {
            Some(given) if given != "none" && !known.contains(&given) => {
                let own = known.first().copied().unwrap_or("none");
                let reason = format!("{name} {given:?}: family {} has {own}; leave it out", table.name);
                Err(FamilyError::Template { reason })
            }
            _ => Ok(()),
        };
        named("reasoning parser", &options.reasoning_parser, table.parsers[0])?;
        named("tool call parser", &options.tool_call_parser, table.parsers[1])?;
        let need = |token: &str| {
            let missing = || FamilyError::Token { family: table.name.to_owned(), token: token.to_owned() };
            tokenizer.special(token).ok_or_else(missing)
        };
        table.markers.iter().try_for_each(|token| need(token).map(drop))?;
        let mut stop = vec![need(table.stop[0])?];
        stop.extend(table.stop[1..].iter().filter_map(|token| tokenizer.special(token)));
        let all = SpecialSplitter::new(&*tokenizer, |_| true);
        let grammar = Grammar::new(&*tokenizer, &stop, table.thinking, table.calling);
        let own: Vec<(&str, Value)> =
            table.fixed.iter().map(|(name, value)| (*name, Value::Bool(*value))).collect();
        Ok(Self {
            format,
            table,
            arguments: Arguments::new(table.name, &own, &options.fixed)?,
            openers: match table.end {
                End::Opener(after_calls) => vec![stop[0], need(after_calls)?],
                End::Token(..) | End::Either(..) => Vec::new(),
            },
            ends: match table.end {
                End::Either(said, called) => Some([need(said)?, need(called)?]),
                End::Token(..) | End::Opener(_) => None,
            },
            markers: SpecialSplitter::new(&*tokenizer, |added| {
                let spoken = match format.spoken() {
                    Some(spoken) => spoken.contains(&added.spelling.as_str()),
                    None => !added.control,
                };
                spoken || grammar.has(added.id)
            }),
            grammar: Arc::new(grammar),
            cuts: Arc::new(match format.channels() {
                Some(channels) => Cuts::new(channels, &stop, &*tokenizer),
                None => Cuts::default(),
            }),
            all,
            stop,
            vision: images::vision(format, &*tokenizer, &options.pixels)?,
            tokenizer,
        })
    }

    fn unsupported(&self, message: usize, what: &str) -> RenderError {
        RenderError::Unsupported { message, what: what.to_owned(), family: self.table.name.to_owned() }
    }

    /// Whether the model is left to think.
    fn thinks(&self, scene: Scene<'_>) -> bool {
        let switch = self.table.switch;
        let asked = switch.names.iter().find_map(|name| self.arguments.get(scene.setup, name));
        switch.thinks(asked)
    }

    /// Refuses template arguments that contradict what is fixed, or one another.
    fn check(&self, scene: Scene<'_>) -> Result<(), RenderError> {
        self.arguments.check(scene.setup)?;
        let switch = self.table.switch;
        let given = switch.names.iter();
        let mut given = given.filter_map(|name| Some((*name, self.arguments.get(scene.setup, name)?)));
        let Some((first, decides)) = given.next() else { return Ok(()) };
        let thinks = switch.thinks(Some(decides));
        match given.find(|(_, value)| switch.thinks(Some(value)) != thinks) {
            None => Ok(()),
            Some((name, value)) => Err(RenderError::Argument {
                name: name.to_owned(),
                value: value.to_string(),
                fixed: format!("{first}: {decides}"),
                family: self.table.name.to_owned(),
            }),
        }
    }

    /// Renders messages from `from` on.
    fn messages(&self, messages: Messages<'_>, from: usize, page: &mut Page<'_>) -> Result<(), RenderError> {
        for (at, message) in messages.new.iter().enumerate().skip(from) {
            if message.role == Role::Assistant {
                page.frame(self.format.opener(messages.previous(at)));
                self.history(message, at, page)?;
                match self.table.end {
                    End::Token(end, after) => {
                        page.frame(end);
                        page.frame(after);
                    }
                    End::Either(said, called) => {
                        page.frame(if message.tool_calls.is_empty() { said } else { called });
                    }
                    End::Opener(_) => {}
                }
            } else {
                self.format.message(messages, at, page)?;
            }
        }
        Ok(())
    }

    /// Opens the assistant's next turn.
    fn prompt(&self, messages: Messages<'_>, page: &mut Page<'_>) -> StartState {
        page.frame(self.format.opener(messages.previous(messages.new.len())));
        let switch = self.table.switch;
        if self.thinks(page.scene) {
            page.frame(switch.on.0);
            switch.on.1
        } else {
            page.frame(switch.off);
            StartState::Content
        }
    }
}

impl Family for Native {
    fn name(&self) -> &str {
        self.table.name
    }

    fn tokenizer(&self) -> &Arc<dyn Tokenizer> {
        &self.tokenizer
    }

    fn stop_ids(&self) -> &[TokenId] {
        &self.stop
    }

    fn reads_clock(&self) -> bool {
        self.format.reads_clock()
    }

    fn vision(&self) -> Option<&Vision> {
        self.vision.as_ref()
    }

    fn max_trim(&self) -> usize {
        usize::from(!matches!(self.table.end, End::Token(..)))
    }

    fn open(&self, scene: Scene<'_>, messages: &[Message]) -> Result<Rendered, RenderError> {
        self.check(scene)?;
        self.sees(messages)?;
        let mut page = Page::new(self, scene);
        let from = self.format.head(messages, &mut page)?;
        let messages = Messages { new: messages, before: None };
        self.messages(messages, from, &mut page)?;
        let start = self.prompt(messages, &mut page);
        let Written { ids, sources, images } = page.finish();
        Ok(Rendered { ids, sources, images, start })
    }

    fn extend(
        &self,
        scene: Scene<'_>,
        junction: Junction<'_>,
        new: &[Message],
    ) -> Result<Extension, RenderError> {
        self.check(scene)?;
        if let Some(at) = new.iter().position(|message| !self.table.append.contains(&message.role)) {
            return Err(RenderError::Role {
                message: at,
                role: new[at].role,
                family: self.name().to_owned(),
            });
        }
        self.sees(new)?;
        let mut page = Page::new(self, scene);
        let repair = self.end_sampled(junction, &mut page);
        let messages = Messages { new, before: Some(junction.message) };
        self.messages(messages, 0, &mut page)?;
        let start = self.prompt(messages, &mut page);
        Ok(self.join(junction, page.finish(), start, repair))
    }

    fn parser(&self, scene: Scene<'_>, start: StartState, call_prefix: &str) -> Box<dyn Parser> {
        let (tokenizer, grammar) = (Arc::clone(&self.tokenizer), Arc::clone(&self.grammar));
        if let Some(channels) = self.format.channels() {
            return Box::new(ChannelParser::new(channels, tokenizer, Arc::clone(&self.cuts), call_prefix));
        }
        let closed = start == StartState::Content && !self.thinks(scene);
        Box::new(TurnParser::new(tokenizer, grammar, start, &scene.setup.tools, closed, call_prefix))
    }

    fn outline(&self, scene: Scene<'_>, start: StartState) -> Outline {
        if self.format.channels().is_some() {
            return Outline::UNSAID;
        }
        Outline::new(&self.grammar, &*self.tokenizer, start, self.thinks(scene))
    }

    fn reply(
        &self,
        scene: Scene<'_>,
        start: StartState,
        message: &Message,
    ) -> Result<Vec<TokenId>, RenderError> {
        self.check(scene)?;
        let mut page = Page::new(self, scene);
        self.say(start, message, &mut page)?;
        let mut ids = page.finish().ids;
        let after_calls = self.openers.get(1).copied().or(self.ends.map(|[_, called]| called));
        ids.push(after_calls.filter(|_| !message.tool_calls.is_empty()).unwrap_or(self.stop[0]));
        Ok(ids)
    }
}
