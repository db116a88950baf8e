//! A text that has a form.
//!
//! The invariant: what is said is one of the form's texts, or the form is refused by name.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use verbatim_engine::{EngineError, Form};

use crate::json;

/// Draws one of the form's texts.
///
/// # Errors
/// [`EngineError::Refused`] for a form that is not drawn from: a regular expression, a grammar, a structural tag, a
/// schema that says more than [`json::value`] understands.
pub(crate) fn text(form: &Form, random: &mut ChaCha8Rng) -> Result<String, EngineError> {
    let mut out = String::new();
    write(form, random, &mut out)?;
    Ok(out)
}

fn write(form: &Form, random: &mut ChaCha8Rng, out: &mut String) -> Result<(), EngineError> {
    match form {
        Form::Text(text) => out.push_str(text),
        Form::Json(schema) => out.push_str(&json::value(schema, random)?),
        Form::Until(end) => {
            out.push_str("so it is to be");
            out.push_str(end);
        }
        Form::Sequence(forms) => forms.iter().try_for_each(|form| write(form, random, out))?,
        Form::OneOf(forms) if forms.is_empty() => return Err(refused("a choice of nothing")),
        Form::OneOf(forms) => write(&forms[random.random_range(0..forms.len())], random, out)?,
        Form::Some { of, .. } if of.is_empty() => return Err(refused("a choice of nothing")),
        Form::Some { of, between, once } => {
            let count = if *once { 1 } else { random.random_range(1..=2) };
            for nth in 0..count {
                out.push_str(if nth > 0 { between } else { "" });
                let one = &of[random.random_range(0..of.len())];
                out.push_str(&one.begin);
                out.push_str(&json::value(&one.schema, random)?);
                out.push_str(&one.end);
            }
        }
        Form::Regex(_) | Form::Grammar(_) | Form::Tag(_) => {
            return Err(refused("a regular expression, a grammar or a structural tag"));
        }
    }
    Ok(())
}

pub(crate) fn refused(what: &str) -> EngineError {
    EngineError::Refused { message: format!("the simulated engine draws nothing from {what}") }
}
