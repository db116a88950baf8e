//! Media of a dataset put into its prompts.
//!
//! A prompt names them in order by `<image>` in its text, or holds `{"type": "image", "image": x}`
//! parts; both become OpenAI's `image_url` parts. URLs stay as they are, files become data URLs.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use serde_json::{Value, json};

/// What is left to place, by kind.
pub(crate) type Queues = BTreeMap<String, VecDeque<Value>>;

/// Places all media; what no message names is an error, because it would be lost.
pub(crate) fn place(messages: Vec<Value>, mut media: Queues, folder: &Path) -> Result<Vec<Value>, String> {
    let placed = messages
        .into_iter()
        .map(|mut message| {
            if let Some(content) = message.get_mut("content") {
                *content = within(content.take(), &mut media, folder)?;
            }
            Ok(message)
        })
        .collect::<Result<Vec<_>, String>>()?;
    match media.iter().find(|(_, left)| !left.is_empty()) {
        Some((kind, left)) => {
            Err(format!("{} {kind} value(s) are named by no <{kind}> in the prompt", left.len()))
        }
        None => Ok(placed),
    }
}

fn within(content: Value, media: &mut Queues, folder: &Path) -> Result<Value, String> {
    match content {
        Value::String(text) => {
            let parts = split(&text, media, folder)?;
            Ok(if parts.iter().all(|part| part["type"] == "text") {
                Value::String(text)
            } else {
                Value::Array(parts)
            })
        }
        Value::Array(parts) => {
            let parts = parts.into_iter().map(|part| convert(part, folder)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::Array(parts))
        }
        other => Ok(other),
    }
}

/// Cuts text at the names of media that are there to be placed.
fn split(text: &str, media: &mut Queues, folder: &Path) -> Result<Vec<Value>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((at, kind)) = media
        .iter()
        .filter(|(_, left)| !left.is_empty())
        .filter_map(|(kind, _)| rest.find(&format!("<{kind}>")).map(|at| (at, kind.clone())))
        .min()
    {
        if at > 0 {
            parts.push(json!({"type": "text", "text": &rest[..at]}));
        }
        let value = media.get_mut(&kind).and_then(VecDeque::pop_front).unwrap_or_default();
        parts.push(part(&kind, value, folder)?);
        rest = &rest[at + kind.len() + 2..];
    }
    if !rest.is_empty() {
        parts.push(json!({"type": "text", "text": rest}));
    }
    Ok(parts)
}

fn convert(part: Value, folder: &Path) -> Result<Value, String> {
    match (part.get("type").and_then(Value::as_str), part.get("image")) {
        (Some("image"), Some(image)) => self::part("image", image.clone(), folder),
        _ => Ok(part),
    }
}

fn part(kind: &str, value: Value, folder: &Path) -> Result<Value, String> {
    if kind != "image" {
        return Err(format!("multimodal_keys.{kind}: only images are supported"));
    }
    let source = match &value {
        Value::String(source) => source,
        other => return Err(format!("an image must be a URL or a path, not {other}")),
    };
    let url = if source.starts_with("data:image/")
        || source.starts_with("http://")
        || source.starts_with("https://")
    {
        source.clone()
    } else {
        data_url(&folder.join(source))?
    };
    Ok(json!({"type": "image_url", "image_url": {"url": url}}))
}

fn data_url(path: &Path) -> Result<String, String> {
    let kind = match path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("png") => "png",
        Some("jpg" | "jpeg") => "jpeg",
        Some("webp") => "webp",
        Some("gif") => "gif",
        _ => return Err(format!("{}: unknown kind of image; use png, jpeg, webp or gif", path.display())),
    };
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(format!("data:image/{kind};base64,{}", base64_simd::STANDARD.encode_to_string(bytes)))
}
