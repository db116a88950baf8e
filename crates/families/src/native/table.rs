//! In what families differ that need no code.

use serde_json::Value;
use verbatim_chat::{Role, StartState};

use crate::parser::{Calling, Thinking};

/// One family's rules.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Markers that its vocabulary must have as single tokens, beside those in `assistant` and
    /// `stop`.
    pub(crate) markers: &'static [&'static str],
    /// What opens an assistant's turn.
    pub(crate) assistant: &'static str,
    /// How turns end.
    pub(crate) end: End,
    /// What ends a turn, by spelling: the first must be in the vocabulary, the others may be.
    pub(crate) stop: &'static [&'static str],
    /// How reasoning is set apart; `None` where the format has none.
    pub(crate) thinking: Option<&'static Thinking>,
    /// How calls are written.
    pub(crate) calling: Option<&'static Calling>,
    /// What the prompt says of thinking.
    pub(crate) switch: Switch,
    /// Roles that may follow a sampled turn.
    pub(crate) append: &'static [Role],
    /// Template arguments that are fixed.
    pub(crate) fixed: &'static [(&'static str, bool)],
    /// The names, in SGLang, of its parsers of reasoning and of calls; the first is the one to use.
    pub(crate) parsers: [&'static [&'static str]; 2],
}

/// How turns end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a token of their own, after which the template writes this.
    Token(&'static str, &'static str),
    /// With the next turn's opener, which is what the model samples: the first stop token where it
    /// spoke, this one where it called.
    Opener(&'static str),
    /// With the first of these where it spoke and with the second where it called. A model that spoke
    /// samples the first stop token, which makes way for that of history; one that called samples what
    /// history has.
    Either(&'static str, &'static str),
}

/// The thinking switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    /// What a prompt says after the opener where the model is to think, and what that leaves the
    /// turn in.
    pub(crate) on: (&'static str, StartState),
    /// What it says where it is not.
    pub(crate) off: &'static str,
    /// Which values of the argument switch it off.
    pub(crate) by: Off,
    /// What the argument is called; of several the first that is given decides.
    pub(crate) names: &'static [&'static str],
    /// Whether a model thinks where nothing is said.
    pub(crate) unasked: bool,
    /// What history has in place of every think block where the model does not think.
    pub(crate) muted: Option<&'static str>,
}

/// What switches thinking off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Off {
    /// Nothing.
    Never,
    /// The boolean `false` alone.
    False,
    /// Whatever Python takes for false.
    Falsy,
    /// The same, and the word `chat`.
    Chat,
}

impl Switch {
    /// The format has no thinking.
    pub(crate) const NONE: Self = Self {
        on: ("", StartState::Content),
        off: "",
        by: Off::Never,
        names: &["enable_thinking"],
        unasked: true,
        muted: None,
    };

    /// Whether the model is left to think.
    pub(crate) fn thinks(&self, asked: Option<&Value>) -> bool {
        match (self.by, asked) {
            (Off::Never, _) => true,
            (_, None) => self.unasked,
            (Off::False, Some(value)) => *value != Value::Bool(false),
            (Off::Falsy, Some(value)) => is_true(value),
            (Off::Chat, Some(value)) => is_true(value) && *value != "chat",
        }
    }
}

/// Python's `bool()`.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Every role there is: what Miles lets be appended unless a template cannot render it (§4.1).
pub(crate) const ALL_ROLES: &[Role] = &[Role::System, Role::User, Role::Assistant, Role::Tool];

/// All but a system message, which the template takes at the beginning only.
pub(crate) const NO_SYSTEM: &[Role] = &[Role::User, Role::Assistant, Role::Tool];
