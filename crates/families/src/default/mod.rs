//! Any chat template.
//!
//! The invariant: what follows a sampled turn is cut out of the template's own render, after a
//! stand-in history; that it is the same after a real one is proven, over the shapes of
//! conversations that agents have, before the family is handed out.

mod context;
mod convert;
mod engine;
mod guard;
mod locate;
mod proof;
mod suffix;
mod tokens;

use std::sync::Arc;

use verbatim_chat::{Message, Role, StartState};
use verbatim_tokenizer::{Piece, SpecialSplitter, Tokenizer};
use verbatim_tokens::{Runs, TokenId};

use crate::arguments::Arguments;
use crate::parser::channels::{ChannelParser, Channels, Cuts};
use crate::parser::{Grammar, TurnParser};
use crate::registry::{channels, parsers};
use crate::script::{Script, Written};
use crate::{
    Extension, Family, FamilyError, Junction, Options, Outline, Parser, RenderError, Rendered, Scene, Source,
};
use engine::Engine;
use guard::Guard;

/// A family that renders with a chat template.
pub(crate) struct Templated {
    tokenizer: Arc<dyn Tokenizer>,
    engine: Engine,
    arguments: Arguments,
    guard: Guard,
    /// Finds every added token in what the template rendered.
    splitter: SpecialSplitter,
    /// `bos_token` and the like.
    special_tokens: Vec<(String, String)>,
    /// The token with which the template ends an assistant's turn, if it does.
    end: Option<TokenId>,
    /// What the template writes between what an assistant said and that end; all that it writes
    /// after it where there is no end.
    before_end: String,
    stop: Vec<TokenId>,
    /// Whether the template asks for the time.
    reads_clock: bool,
    grammar: Arc<Grammar>,
    /// Where turns are cut into messages: how, and at which tokens.
    channels: Option<(&'static dyn Channels, Arc<Cuts>)>,
    warnings: Vec<String>,
}

const NAME: &str = "default";

impl Templated {
    /// Sets the family up and proves its template.
    pub(crate) fn new(tokenizer: Arc<dyn Tokenizer>, options: &Options) -> Result<Self, FamilyError> {
        let Some(template) = &options.template else {
            let reason = "family default needs a chat template; give the model's, or use another family";
            return Err(FamilyError::Template { reason: reason.to_owned() });
        };
        let (thinking, calling) = parsers(options)?;
        let channels = channels(options)?;
        let mut family = Self {
            engine: Engine::new(template)?,
            arguments: Arguments::new(NAME, &[], &options.fixed)?,
            guard: Guard::new(&*tokenizer),
            splitter: SpecialSplitter::new(&*tokenizer, |_| true),
            special_tokens: tokens::special_tokens(options),
            end: None,
            before_end: String::new(),
            stop: tokens::stop_tokens(&*tokenizer, options)?,
            reads_clock: template.contains("strftime_now"),
            grammar: Arc::new(Grammar::new(&*tokenizer, &[], thinking, calling)),
            channels: None,
            warnings: Vec::new(),
            tokenizer,
        };
        family.find_end()?;
        for token in channels.map_or(&[][..], |format| format.stops()) {
            let own = family.tokenizer.special(token).filter(|id| !family.stop.contains(id));
            family.stop.extend(own);
        }
        family.grammar = Arc::new(Grammar::new(&*family.tokenizer, &family.stop, thinking, calling));
        let cuts = |format| (format, Arc::new(Cuts::new(format, &family.stop, &*family.tokenizer)));
        family.channels = channels.map(cuts);
        family.warnings = proof::prove(&family)?;
        Ok(family)
    }

    /// Encodes what the template rendered. `located` says which stretches messages wrote.
    fn encode(&self, rendered: &str, located: &[locate::Stretch]) -> (Vec<TokenId>, Runs<Source>) {
        let mut script = Script::new(&*self.tokenizer);
        for (start, piece) in self.splitter.split_at(rendered) {
            match piece {
                Piece::Special(id) => script.special(id, locate::at(located, start)),
                Piece::Text(text) => {
                    for (part, source) in locate::split(located, start, text) {
                        script.text(&self.guard.lift(part), source);
                    }
                }
            }
        }
        let Written { ids, sources, .. } = script.finish();
        (ids, sources)
    }

    /// What the turn is in the middle of after a prompt.
    fn start(&self, rendered: &str) -> StartState {
        if self.grammar.is_open(rendered) { StartState::Reasoning } else { StartState::Content }
    }
}

impl Family for Templated {
    fn name(&self) -> &str {
        NAME
    }

    fn tokenizer(&self) -> &Arc<dyn Tokenizer> {
        &self.tokenizer
    }

    fn stop_ids(&self) -> &[TokenId] {
        &self.stop
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn reads_clock(&self) -> bool {
        self.reads_clock
    }

    fn max_trim(&self) -> usize {
        usize::from(self.end.is_none())
    }

    fn open(&self, scene: Scene<'_>, messages: &[Message]) -> Result<Rendered, RenderError> {
        let context = self.context(scene)?;
        let prepared = self.prepare(messages)?;
        let rendered = self.engine.render(&context, prepared.values(), true)?;
        let shadow = self.engine.render(&context, prepared.marked(), true).ok();
        let (ids, sources) =
            self.encode(&rendered, &locate::stretches(&rendered, shadow.as_deref(), &prepared));
        Ok(Rendered { ids, sources, images: Vec::new(), start: self.start(&rendered) })
    }

    fn extend(
        &self,
        scene: Scene<'_>,
        junction: Junction<'_>,
        new: &[Message],
    ) -> Result<Extension, RenderError> {
        self.follow(scene, junction, new)
    }

    fn parser(&self, scene: Scene<'_>, start: StartState, call_prefix: &str) -> Box<dyn Parser> {
        if let Some((format, cuts)) = &self.channels {
            let (tokenizer, cuts) = (Arc::clone(&self.tokenizer), Arc::clone(cuts));
            return Box::new(ChannelParser::new(*format, tokenizer, cuts, call_prefix));
        }
        let (tokenizer, grammar) = (Arc::clone(&self.tokenizer), Arc::clone(&self.grammar));
        Box::new(TurnParser::new(tokenizer, grammar, start, &scene.setup.tools, false, call_prefix))
    }

    fn outline(&self, _scene: Scene<'_>, start: StartState) -> Outline {
        if self.channels.is_some() {
            return Outline::UNSAID;
        }
        Outline::new(&self.grammar, &*self.tokenizer, start, true)
    }

    fn reply(
        &self,
        scene: Scene<'_>,
        _start: StartState,
        message: &Message,
    ) -> Result<Vec<TokenId>, RenderError> {
        let context = self.context(scene)?;
        let user = Message::new(Role::User, "x");
        let whole = self.prepare(&[user, message.clone()]).map_err(|e| match e {
            RenderError::Arguments { call, .. } => RenderError::Arguments { message: 0, call },
            other => other,
        })?;
        let prompt = self.engine.render(&context, &whole.values()[..1], true)?;
        let said = self.engine.render(&context, whole.values(), false)?;
        let Some(said) = said.strip_prefix(&prompt) else {
            let what = "this turn after its own opener: the template renders it otherwise".to_owned();
            return Err(RenderError::Unsupported { message: 0, what, family: NAME.to_owned() });
        };
        let mut ids = self.encode(said, &[]).0;
        match ids.iter().rposition(|id| Some(*id) == self.end) {
            Some(at) => ids.truncate(at + 1),
            None => ids.extend(self.stop.first()),
        }
        Ok(ids)
    }
}
