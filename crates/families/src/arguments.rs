//! Template arguments: what is fixed, what a request may say.
//!
//! The invariant: what a family was proven with cannot be argued away; a request that contradicts
//! it is refused by name (Miles §1.2 step 5), one that repeats it is not.

use serde_json::{Map, Value};
use verbatim_chat::Setup;

use crate::{FamilyError, RenderError};

/// Names that the renderer itself gives to a template. Miles lets a request overwrite them, and
/// with `chat_template` the whole template (Miles §1.2).
const RESERVED: [&str; 5] = ["messages", "tools", "documents", "add_generation_prompt", "chat_template"];

/// The arguments of one family.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    family: String,
    fixed: Map<String, Value>,
}

impl Arguments {
    /// Lays what the operator fixes over what the family fixes.
    pub(crate) fn new(
        family: &str,
        own: &[(&str, Value)],
        fixed: &Map<String, Value>,
    ) -> Result<Self, FamilyError> {
        let mut all: Map<String, Value> =
            own.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        for (name, value) in fixed {
            if RESERVED.contains(&name.as_str()) {
                return Err(FamilyError::Template {
                    reason: format!("template argument {name} cannot be fixed: the renderer sets it"),
                });
            }
            match all.get(name) {
                Some(given) if given != value => {
                    let reason = format!(
                        "template argument {name}={value}: family {family} needs {given}; leave it out"
                    );
                    return Err(FamilyError::Template { reason });
                }
                _ => all.insert(name.clone(), value.clone()),
            };
        }
        Ok(Self { family: family.to_owned(), fixed: all })
    }

    /// Refuses a setup that contradicts what is fixed.
    pub(crate) fn check(&self, setup: &Setup) -> Result<(), RenderError> {
        for (name, value) in &setup.template {
            let fixed = match self.fixed.get(name) {
                Some(fixed) if fixed != value => fixed.to_string(),
                None if RESERVED.contains(&name.as_str()) => "the renderer's own".to_owned(),
                _ => continue,
            };
            let (name, value) = (name.clone(), value.to_string());
            return Err(RenderError::Argument { name, value, fixed, family: self.family.clone() });
        }
        Ok(())
    }

    /// The value of one argument.
    pub(crate) fn get<'s>(&'s self, setup: &'s Setup, name: &str) -> Option<&'s Value> {
        self.fixed.get(name).or_else(|| setup.template.get(name))
    }

    /// All of them: the request's, then those that are fixed.
    pub(crate) fn all<'s>(&'s self, setup: &'s Setup) -> impl Iterator<Item = (&'s String, &'s Value)> {
        let asked = setup.template.iter().filter(|(name, _)| !self.fixed.contains_key(*name));
        asked.chain(&self.fixed)
    }
}
