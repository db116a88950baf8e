//! The text of an item.

use serde_json::value::RawValue;
use verbatim_chat::{Content, Part};
use verbatim_events::Cause;

use crate::Invalid;
use crate::body::Body;
use crate::fields::{excerpt, ignored, read};

/// A string, or a list of text parts.
pub(super) fn parse(field: &str, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Content, Invalid> {
    let expected = "a string or a list of text parts";
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            let text: Option<String> = read(field, raw, expected)?;
            Ok(Content::Text(text.unwrap_or_default()))
        }
        Some(b'[') => {
            let parts: Vec<&RawValue> = read(field, raw, expected)?.unwrap_or_default();
            let parts = parts
                .into_iter()
                .enumerate()
                .map(|(at, raw)| part(&format!("{field}[{at}]"), raw, lost).map(Part::Text));
            parts.collect::<Result<_, _>>().map(Content::Parts)
        }
        _ => Err(Invalid::new(field, format!("{} is not {expected}", excerpt(raw)))),
    }
}

/// The text of one part.
fn part(field: &str, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<String, Invalid> {
    let body = Body::of_object(field, raw)?;
    let kind = body.get("type").map_or("null", RawValue::get);
    let key = match kind {
        "\"input_text\"" | "\"output_text\"" | "\"text\"" | "\"summary_text\"" | "\"reasoning_text\"" => {
            "text"
        }
        "\"refusal\"" => "refusal",
        _ => {
            let problem = format!("{kind} is not supported; send input_text or output_text");
            return Err(Invalid::new(format!("{field}.type"), problem));
        }
    };
    let mut text = None;
    for (name, raw) in body.0 {
        match name.as_str() {
            "type" => {}
            _ if name == key => text = read(&format!("{field}.{key}"), raw, "a string")?,
            _ => lost.extend(ignored(format!("input[].content[].{name}"), raw)),
        }
    }
    text.ok_or_else(|| Invalid::new(format!("{field}.{key}"), "must be a string"))
}
