//! What a reply must be, where it is not left to the model.
//!
//! The invariant: a form is a set of texts, said in no engine's notation, and it is about the whole reply: it begins
//! at the turn's first sampled token. Engines begin it anew at the end of whatever prompt they are given, so what one
//! attempt has sampled cannot be gone on with in another.

use std::sync::Arc;

/// A set of texts that a reply is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// This text.
    Text(Arc<str>),
    /// A JSON value that the schema (itself JSON text) allows.
    Json(Arc<str>),
    /// What the regular expression matches from end to end.
    Regex(Arc<str>),
    /// What the grammar derives, in the engine's own notation.
    Grammar(Arc<str>),
    /// What a structural tag in XGrammar's notation allows.
    Tag(Arc<str>),
    /// Anything up to and with the first time that this text is said.
    Until(Arc<str>),
    /// One after the other.
    Sequence(Vec<Form>),
    /// Any of these.
    OneOf(Vec<Form>),
    /// One or more of these, each time any of them.
    Some {
        /// What may stand there.
        of: Vec<Wrapped>,
        /// What stands between two of them.
        between: Arc<str>,
        /// Whether there is one only.
        once: bool,
    },
}

/// A JSON value between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// Before it.
    pub begin: Arc<str>,
    /// The schema of the value, as JSON text.
    pub schema: Arc<str>,
    /// After it.
    pub end: Arc<str>,
}

/// Which forms an engine can hold a reply to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// [`Form::Json`].
    pub json: bool,
    /// [`Form::Regex`].
    pub regex: bool,
    /// [`Form::Grammar`].
    pub grammar: bool,
    /// [`Form::Tag`].
    pub tag: bool,
    /// Forms made of others.
    pub composed: bool,
}

impl Forms {
    /// None.
    pub const NONE: Self = Self { json: false, regex: false, grammar: false, tag: false, composed: false };
    /// All.
    pub const ALL: Self = Self { json: true, regex: true, grammar: true, tag: true, composed: true };

    /// What both can.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            json: self.json && other.json,
            regex: self.regex && other.regex,
            grammar: self.grammar && other.grammar,
            tag: self.tag && other.tag,
            composed: self.composed && other.composed,
        }
    }

    /// What of a form cannot be had, in words; `None` if all of it can.
    pub fn lacks(self, form: &Form) -> Option<&'static str> {
        let unless = |can: bool, what| if can { None } else { Some(what) };
        match form {
            Form::Json(_) => unless(self.json, "a JSON schema"),
            Form::Regex(_) => unless(self.regex, "a regular expression"),
            Form::Grammar(_) => unless(self.grammar, "a grammar"),
            Form::Tag(_) => unless(self.tag, "a structural tag"),
            Form::Text(_) | Form::Until(_) => unless(self.composed, COMPOSED),
            Form::Some { of, .. } => {
                unless(self.composed, COMPOSED).or(unless(self.json || of.is_empty(), "a JSON schema"))
            }
            Form::Sequence(forms) | Form::OneOf(forms) => {
                unless(self.composed, COMPOSED).or_else(|| forms.iter().find_map(|form| self.lacks(form)))
            }
        }
    }
}

const COMPOSED: &str = "a form made of several parts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_can_be_had_if_all_of_it_can() {
        let json = || Form::Json("{}".into());
        let thinks = Form::Sequence(vec![Form::Until("</think>".into()), json()]);
        let leaves = Forms { json: true, ..Forms::NONE };
        assert_eq!(leaves.lacks(&json()), None);
        assert_eq!(leaves.lacks(&thinks), Some("a form made of several parts"));
        assert_eq!(leaves.lacks(&Form::Regex("a".into())), Some("a regular expression"));
        let composed = Forms { composed: true, ..Forms::NONE };
        assert_eq!(composed.lacks(&thinks), Some("a JSON schema"));
        assert_eq!(Forms::ALL.lacks(&thinks), None);
        assert_eq!(Forms::ALL.and(leaves), leaves);
    }
}
