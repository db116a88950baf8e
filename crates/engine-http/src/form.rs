//! Forms in the engines' own words.
//!
//! Source: XGrammar's structural tags, which SGLang and vLLM take as text; a form that is one JSON schema, one regular
//! expression or one grammar goes to the field that is for it, so that every grammar backend can read it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use verbatim_engine::{EngineError, Form, Wrapped};

/// A form as one of the fields that engines have for it.
pub(crate) enum Spelt<'a> {
    /// A JSON schema.
    Json(&'a RawValue),
    Regex(&'a str),
    /// In the engine's own notation.
    Grammar(&'a str),
    /// A structural tag.
    Tag(Cow<'a, str>),
}

impl<'a> Spelt<'a> {
    /// Spells a form.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for a schema that is no JSON.
    pub(crate) fn new(form: &'a Form) -> Result<Self, EngineError> {
        Ok(match form {
            Form::Json(schema) => Self::Json(json(schema)?),
            Form::Regex(pattern) => Self::Regex(pattern),
            Form::Grammar(grammar) => Self::Grammar(grammar),
            Form::Tag(tag) => Self::Tag(Cow::Borrowed(tag)),
            made => {
                let tag = Structural { r#type: "structural_tag", format: format(made)? };
                let tag = serde_json::to_string(&tag).map_err(|error| refused(&error))?;
                Self::Tag(Cow::Owned(tag))
            }
        })
    }
}

#[derive(Serialize)]
struct Structural<'a> {
    r#type: &'static str,
    format: Format<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    ConstString {
        value: &'a str,
    },
    JsonSchema {
        json_schema: &'a RawValue,
    },
    Regex {
        pattern: &'a str,
    },
    Grammar {
        grammar: &'a str,
    },
    AnyText {},
    Sequence {
        elements: Vec<Format<'a>>,
    },
    Or {
        elements: Vec<Format<'a>>,
    },
    Tag {
        begin: &'a str,
        content: Box<Format<'a>>,
        end: &'a str,
    },
    TagsWithSeparator {
        tags: Vec<Format<'a>>,
        separator: &'a str,
        at_least_one: bool,
        stop_after_first: bool,
    },
}

fn format(form: &Form) -> Result<Format<'_>, EngineError> {
    Ok(match form {
        Form::Text(value) => Format::ConstString { value },
        Form::Json(schema) => Format::JsonSchema { json_schema: json(schema)? },
        Form::Regex(pattern) => Format::Regex { pattern },
        Form::Grammar(grammar) => Format::Grammar { grammar },
        Form::Tag(_) => {
            let message = "a structural tag cannot be part of another form";
            return Err(EngineError::Refused { message: message.to_owned() });
        }
        Form::Until(end) => Format::Tag { begin: "", content: Box::new(Format::AnyText {}), end },
        Form::Sequence(forms) => Format::Sequence { elements: each(forms)? },
        Form::OneOf(forms) => Format::Or { elements: each(forms)? },
        Form::Some { of, between, once } => Format::TagsWithSeparator {
            tags: of.iter().map(wrapped).collect::<Result<_, _>>()?,
            separator: between,
            at_least_one: true,
            stop_after_first: *once,
        },
    })
}

fn each(forms: &[Form]) -> Result<Vec<Format<'_>>, EngineError> {
    forms.iter().map(format).collect()
}

fn wrapped(of: &Wrapped) -> Result<Format<'_>, EngineError> {
    let content = Box::new(Format::JsonSchema { json_schema: json(&of.schema)? });
    Ok(Format::Tag { begin: &of.begin, content, end: &of.end })
}

fn json(schema: &str) -> Result<&RawValue, EngineError> {
    serde_json::from_str(schema).map_err(|error| refused(&error))
}

fn refused(error: &serde_json::Error) -> EngineError {
    EngineError::Refused { message: format!("the form is no JSON: {error}") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_made_form_is_a_structural_tag() {
        let call = Wrapped { begin: "<c>".into(), schema: r#"{"type":"object"}"#.into(), end: "</c>".into() };
        let calls = Form::Some { of: vec![call], between: "\n".into(), once: true };
        let form = Form::Sequence(vec![Form::Text("<t>".into()), Form::Until("</t>".into()), calls]);
        let Ok(Spelt::Tag(tag)) = Spelt::new(&form) else { panic!("a tag") };
        let tag: Value = serde_json::from_str(&tag).unwrap();
        let calls = json!({
            "type": "tags_with_separator", "separator": "\n", "at_least_one": true, "stop_after_first": true,
            "tags": [{
                "type": "tag", "begin": "<c>", "end": "</c>",
                "content": {"type": "json_schema", "json_schema": {"type": "object"}},
            }],
        });
        let thought = json!({"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": "</t>"});
        let elements = json!([{"type": "const_string", "value": "<t>"}, thought, calls]);
        let format = json!({"type": "sequence", "elements": elements});
        assert_eq!(tag, json!({"type": "structural_tag", "format": format}));
    }
}
