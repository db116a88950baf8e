//! What an item says.

use serde_json::value::RawValue;
use verbatim_chat::{Content, Part};
use verbatim_events::Cause;

use crate::body::Body;
use crate::fields::{excerpt, ignored, read, refuse};
use crate::{Invalid, image};

/// Whether images may be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Images {
    /// By a user and by tools.
    Taken,
    /// By nobody else.
    Refused,
}

/// A string, or a list of parts.
pub(super) fn parse(
    field: &str,
    raw: &RawValue,
    images: Images,
    lost: &mut Vec<Cause>,
) -> Result<Content, Invalid> {
    let expected = "a string or a list of parts";
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
                .map(|(at, raw)| part(&format!("{field}[{at}]"), raw, images, lost));
            parts.collect::<Result<_, _>>().map(Content::Parts)
        }
        _ => Err(Invalid::new(field, format!("{} is not {expected}", excerpt(raw)))),
    }
}

fn part(field: &str, raw: &RawValue, images: Images, lost: &mut Vec<Cause>) -> Result<Part, Invalid> {
    let body = Body::of_object(field, raw)?;
    let kind = body.get("type").map_or("null", RawValue::get);
    let key = match kind {
        "\"input_text\"" | "\"output_text\"" | "\"text\"" | "\"summary_text\"" | "\"reasoning_text\"" => {
            "text"
        }
        "\"refusal\"" => "refusal",
        "\"input_image\"" if images == Images::Taken => return shown(field, body, lost),
        "\"input_image\"" => {
            let problem =
                "\"input_image\" is not supported here; show it in a user's message or as a call's output";
            return Err(Invalid::new(format!("{field}.type"), problem));
        }
        _ => {
            let taken = match images {
                Images::Taken => "input_text, output_text or input_image",
                Images::Refused => "input_text or output_text",
            };
            let problem = format!("{kind} is not supported; send {taken}");
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
    text.map(Part::Text).ok_or_else(|| Invalid::new(format!("{field}.{key}"), "must be a string"))
}

/// An image.
fn shown(field: &str, body: Body<'_>, lost: &mut Vec<Cause>) -> Result<Part, Invalid> {
    let mut url = None::<String>;
    for (name, raw) in body.0 {
        let within = format!("{field}.{name}");
        match name.as_str() {
            "type" => {}
            "image_url" => url = read(&within, raw, "a string")?,
            "file_id" => refuse(&within, raw, "send the image itself as image_url, a data URL")?,
            // Every image is read as its family reads it.
            "detail" if raw.get() == "\"auto\"" => {}
            _ => lost.extend(ignored(format!("input[].content[].{name}"), raw)),
        }
    }
    let field = format!("{field}.image_url");
    match url {
        Some(url) => image::of_url(&field, &url),
        None => Err(Invalid::new(field, "must be a string: a data URL")),
    }
}
