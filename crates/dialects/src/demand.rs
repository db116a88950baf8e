//! What a request demands of its reply: that it calls, that it has a form.
//!
//! Source, beside the dialects' own fields: SGLang's (`regex`, `ebnf`, `structural_tag`), vLLM's
//! (`structured_outputs`, and `guided_…` before it) and llama.cpp's (`json_schema`, `grammar`), as those servers spell
//! them. Which an engine can keep is not known here.

use serde_json::value::RawValue;
use verbatim_events::Cause;

use crate::Invalid;
use crate::body::Body;
use crate::fields::{excerpt, is_null, read};

/// What a reply must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Whether it must call.
    pub calls: Calls,
    /// Whether it may call no more than once.
    pub single: bool,
    /// The form of what it says.
    pub shape: Option<Demanded>,
}

/// Whether a reply must call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// That is the model's to say.
    #[default]
    Free,
    /// Some declared tool.
    Required {
        /// The field that demands it.
        field: &'static str,
    },
    /// This tool.
    Named {
        /// The field that demands it.
        field: &'static str,
        /// The tool.
        name: String,
    },
}

/// A form, and the field that demands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demanded {
    /// The field's path.
    pub field: String,
    /// The form.
    pub shape: Shape,
}

/// The form of what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// JSON that a schema allows; the schema as JSON text.
    Json(String),
    /// What a regular expression matches.
    Regex(String),
    /// What a grammar derives, in the engine's notation.
    Grammar(String),
    /// What a structural tag allows; the tag as JSON text.
    Tag(String),
}

/// The schema of any JSON object.
const OBJECT: &str = r#"{"type":"object"}"#;

impl Demand {
    /// Takes a field that engines have for forms; says whether it was one.
    pub(crate) fn take(&mut self, name: &str, raw: &RawValue) -> Result<bool, Invalid> {
        let text = || read::<String>(name, raw, "a string");
        let shape = match name {
            "regex" | "guided_regex" => text()?.map(Shape::Regex),
            "ebnf" | "grammar" | "guided_grammar" => text()?.map(Shape::Grammar),
            "structural_tag" => tag(name, raw)?.map(Shape::Tag),
            "json_schema" | "guided_json" => schema(name, raw)?.map(Shape::Json),
            "guided_choice" => choice(name, raw)?,
            "structured_outputs" => return self.structured(raw).map(|()| true),
            _ => return Ok(false),
        };
        shape.map_or(Ok(()), |shape| self.put(name, shape))?;
        Ok(true)
    }

    /// Takes a form over; a reply has one.
    fn put(&mut self, field: impl Into<String>, shape: Shape) -> Result<(), Invalid> {
        let field = field.into();
        match self.shape.take().filter(|known| known.field != field) {
            Some(other) => Err(Invalid::new(field, format!("{} demands a form too; send one", other.field))),
            None => {
                self.shape = Some(Demanded { field, shape });
                Ok(())
            }
        }
    }

    /// The loss of a wish for one call at most, where a model that is offered tools is left to say whether it calls:
    /// nothing holds it to that then.
    pub(crate) fn unheeded(&self, field: &str, offers: bool) -> Option<Cause> {
        let unheeded = self.single && offers && self.calls == Calls::Free;
        unheeded.then(|| Cause::FieldIgnored { field: field.to_owned() })
    }

    /// vLLM's object, of which one field is used.
    fn structured(&mut self, raw: &RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        for (name, raw) in Body::of_object("structured_outputs", raw)?.0 {
            let field = format!("structured_outputs.{name}");
            let text = || read::<String>(&field, raw, "a string");
            let shape = match name.as_str() {
                "json" => schema(&field, raw)?.map(Shape::Json),
                "json_object" => (raw.get() == "true").then(|| Shape::Json(OBJECT.to_owned())),
                "regex" => text()?.map(Shape::Regex),
                "grammar" => text()?.map(Shape::Grammar),
                "choice" => choice(&field, raw)?,
                "structural_tag" => tag(&field, raw)?.map(Shape::Tag),
                _ if is_null(raw) || raw.get() == "false" => None,
                _ => {
                    let problem =
                        "is not supported; send json, json_object, regex, grammar, choice or structural_tag";
                    return Err(Invalid::new(field, problem));
                }
            };
            shape.map_or(Ok(()), |shape| self.put(field.as_str(), shape))?;
        }
        Ok(())
    }

    /// OpenAI's and Anthropic's object: `type`, and a schema beside it or within `json_schema`.
    pub(crate) fn format(&mut self, field: &str, raw: &RawValue) -> Result<(), Invalid> {
        if is_null(raw) {
            return Ok(());
        }
        let format = Body::of_object(field, raw)?;
        let shape = match format.get("type").map_or("null", RawValue::get) {
            "\"text\"" => return Ok(()),
            "\"json_object\"" => Shape::Json(OBJECT.to_owned()),
            "\"json_schema\"" => {
                let (within, body) = match format.get("json_schema") {
                    Some(raw) => (format!("{field}.json_schema"), Body::of_object(field, raw)?),
                    None => (field.to_owned(), format),
                };
                let within = format!("{within}.schema");
                let found = body.get("schema").map(|raw| schema(&within, raw)).transpose()?.flatten();
                Shape::Json(found.ok_or_else(|| Invalid::new(within, "must be a JSON schema"))?)
            }
            // SGLang's: the tag is the object itself.
            "\"structural_tag\"" => Shape::Tag(raw.get().to_owned()),
            kind => {
                let problem = format!(
                    "{kind} is not supported; send \"text\", \"json_object\" or \"json_schema\" with its schema"
                );
                return Err(Invalid::new(format!("{field}.type"), problem));
            }
        };
        self.put(field, shape)
    }

    /// OpenAI's choice of tools; says whether it hides them. Chat names the tool within `function`, Responses beside
    /// the type.
    pub(crate) fn choose(&mut self, raw: &RawValue) -> Result<bool, Invalid> {
        const FIELD: &str = "tool_choice";
        self.calls = match raw.get() {
            "null" | "\"auto\"" => Calls::Free,
            "\"none\"" => return Ok(true),
            "\"required\"" => Calls::Required { field: FIELD },
            text if text.starts_with('{') => Calls::Named { field: FIELD, name: named(raw)? },
            _ => return Err(unknown(raw)),
        };
        Ok(false)
    }
}

fn named(raw: &RawValue) -> Result<String, Invalid> {
    let choice = Body::of_object("tool_choice", raw)?;
    let is_function = choice.get("type").is_none_or(|kind| kind.get() == "\"function\"");
    let within =
        choice.get("function").map(|raw| Body::of_object("tool_choice.function", raw)).transpose()?;
    let name = within.as_ref().map_or_else(|| choice.get("name"), |function| function.get("name"));
    match name.filter(|_| is_function) {
        Some(name) => read("tool_choice", name, "a tool's name")?.ok_or_else(|| unknown(raw)),
        None => Err(unknown(raw)),
    }
}

fn unknown(raw: &RawValue) -> Invalid {
    let problem = format!(
        "{} is not supported; send \"auto\", \"none\", \"required\" or a function's name",
        excerpt(raw)
    );
    Invalid::new("tool_choice", problem)
}

/// A schema as JSON text; it may come as a string that holds it.
fn schema(field: &str, raw: &RawValue) -> Result<Option<String>, Invalid> {
    let text = match raw.get().as_bytes().first() {
        Some(b'"') => read::<String>(field, raw, "a JSON schema")?,
        _ if is_null(raw) => None,
        _ => Some(raw.get().to_owned()),
    };
    match text {
        Some(text) if !matches!(text.trim_start().as_bytes().first(), Some(b'{' | b't' | b'f')) => {
            Err(Invalid::new(field, format!("{} is not a JSON schema", excerpt(raw))))
        }
        Some(text) if serde_json::from_str::<&RawValue>(&text).is_err() => {
            Err(Invalid::new(field, format!("{} is not JSON", excerpt(raw))))
        }
        text => Ok(text),
    }
}

/// A structural tag as JSON text; it may come as a string that holds it.
fn tag(field: &str, raw: &RawValue) -> Result<Option<String>, Invalid> {
    schema(field, raw).map_err(|_| Invalid::new(field, format!("{} is not a structural tag", excerpt(raw))))
}

/// One of several texts.
fn choice(field: &str, raw: &RawValue) -> Result<Option<Shape>, Invalid> {
    let expected = "a list of strings";
    let Some(texts) = read::<Vec<String>>(field, raw, expected)? else { return Ok(None) };
    if texts.is_empty() {
        return Err(Invalid::new(field, format!("[] is not {expected}")));
    }
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    Ok(Some(Shape::Regex(format!("({})", texts.join("|")))))
}

/// A text as the regular expression of itself.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && c != '_' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn asked(name: &str, value: &str) -> Result<Option<Shape>, Invalid> {
        let mut demand = Demand::default();
        assert!(demand.take(name, &raw(value))?);
        Ok(demand.shape.map(|demanded| demanded.shape))
    }

    #[test]
    fn engines_names_for_forms_are_read() {
        let json = |text: &str| Some(Shape::Json(text.to_owned()));
        assert_eq!(asked("json_schema", r#"{"type": "array"}"#), Ok(json(r#"{"type": "array"}"#)));
        assert_eq!(asked("guided_json", r#""{\"type\":1}""#), Ok(json(r#"{"type":1}"#)));
        assert_eq!(asked("structured_outputs", r#"{"json_object": true}"#), Ok(json(OBJECT)));
        assert_eq!(asked("ebnf", r#""root ::= x""#), Ok(Some(Shape::Grammar("root ::= x".into()))));
        assert_eq!(asked("guided_choice", r#"["a.b", "c_d"]"#), Ok(Some(Shape::Regex(r"(a\.b|c_d)".into()))));
        assert_eq!(asked("regex", "null"), Ok(None));
        assert_eq!(asked("json_schema", "[1]").unwrap_err().field, "json_schema");
        assert_eq!(
            asked("structured_outputs", r#"{"whitespace": "x"}"#).unwrap_err().field,
            "structured_outputs.whitespace"
        );
    }

    #[test]
    fn two_forms_are_refused_by_name() {
        let mut demand = Demand::default();
        demand.take("regex", &raw("\"a\"")).unwrap();
        let refused = demand.format("response_format", &raw(r#"{"type": "json_object"}"#)).unwrap_err();
        assert_eq!(refused.to_string(), "response_format: regex demands a form too; send one");
    }
}
