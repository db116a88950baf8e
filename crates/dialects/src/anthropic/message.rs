//! One message of a request.

use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::{Arguments, Content, Message, Part, Role, ToolCall};
use verbatim_events::Cause;

use super::split::{Said, Unit};
use crate::body::Body;
use crate::fields::{excerpt, ignored, read};
use crate::seal::Seal;
use crate::{Invalid, Recall};

/// The key that stands for arguments which are no JSON object, where only an object can be sent.
pub(super) const UNPARSED: &str = "__unparsed";

pub(super) fn parse(unit: &Unit<'_>, recall: &dyn Recall, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    for (name, raw) in &unit.more {
        lost.extend(ignored(format!("messages[].{name}"), raw));
    }
    let at = unit.at;
    let field = format!("messages[{at}].content");
    let role = role(&format!("messages[{at}].role"), unit.role)?;
    match (&unit.said, role) {
        (Said::Result { from, block }, _) => result(&format!("{field}[{from}]"), block, lost),
        (Said::Whole(raw), role) => {
            let text: Option<String> = read(&field, raw, "a string or a list of content blocks")?;
            let text =
                text.ok_or_else(|| Invalid::new(&*field, "must be a string or a list of content blocks"))?;
            Ok(Message::new(role, text.as_str()))
        }
        (Said::Blocks { from, blocks }, Role::Assistant) => assistant(&field, *from, blocks, recall, lost),
        (Said::Blocks { from, blocks }, Role::System) => {
            let texts = texts(&field, *from, blocks, lost)?;
            Ok(Message::new(Role::System, texts.join("\n\n").as_str()))
        }
        (Said::Blocks { from, blocks }, role) => {
            let content = Content::Parts(parts(&field, *from, blocks, lost)?);
            Ok(Message { content, ..Message::new(role, "") })
        }
    }
}

/// Instructions: a string, or text blocks, which are paragraphs.
pub(super) fn system(raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    let expected = "a string or a list of text blocks";
    let text = if raw.get().starts_with('[') {
        let blocks: Vec<&RawValue> = read("system", raw, expected)?.unwrap_or_default();
        texts("system", 0, &blocks, lost)?.join("\n\n")
    } else {
        read("system", raw, expected)?.unwrap_or_default()
    };
    Ok(Message::new(Role::System, text.as_str()))
}

fn role(field: &str, raw: &RawValue) -> Result<Role, Invalid> {
    match raw.get() {
        "\"user\"" => Ok(Role::User),
        "\"assistant\"" => Ok(Role::Assistant),
        "\"system\"" => Ok(Role::System),
        _ => {
            let problem = format!("{} is not one of \"user\", \"assistant\", \"system\"", excerpt(raw));
            Err(Invalid::new(field, problem))
        }
    }
}

/// The texts of blocks that may only be text.
fn texts(
    field: &str,
    from: usize,
    blocks: &[&RawValue],
    lost: &mut Vec<Cause>,
) -> Result<Vec<String>, Invalid> {
    let texts =
        blocks.iter().enumerate().map(|(at, raw)| text(&format!("{field}[{}]", from + at), raw, lost));
    texts.collect()
}

/// Blocks that may be text and images.
fn parts(
    field: &str,
    from: usize,
    blocks: &[&RawValue],
    lost: &mut Vec<Cause>,
) -> Result<Vec<Part>, Invalid> {
    let part = |(at, raw): (usize, &&RawValue)| {
        let field = format!("{field}[{}]", from + at);
        let body = Body::of_object(&field, raw)?;
        match kind(&field, &body)?.as_str() {
            "image" => super::image::parse(&field, body, lost),
            _ => text(&field, raw, lost).map(Part::Text),
        }
    };
    blocks.iter().enumerate().map(part).collect()
}

fn kind(field: &str, body: &Body<'_>) -> Result<String, Invalid> {
    let field = format!("{field}.type");
    let kind = body.get("type").map_or(Ok(None), |raw| read(&field, raw, "a string"))?;
    kind.ok_or_else(|| Invalid::new(field, "must be a string, such as \"text\""))
}

fn text(field: &str, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<String, Invalid> {
    let body = Body::of_object(field, raw)?;
    match kind(field, &body)?.as_str() {
        "text" => {}
        "image" => {
            let problem = "an image is not supported here; show it in a user's message or in a tool_result";
            return Err(Invalid::new(format!("{field}.type"), problem));
        }
        "document" => {
            let problem = "documents are not supported; send their text";
            return Err(Invalid::new(format!("{field}.type"), problem));
        }
        other => {
            let problem = format!("{other:?} is not supported here; send text blocks");
            return Err(Invalid::new(format!("{field}.type"), problem));
        }
    }
    let mut text = None;
    for (name, raw) in body.0 {
        match name.as_str() {
            "type" => {}
            "text" => text = read(&format!("{field}.text"), raw, "a string")?,
            _ => lost.extend(ignored(format!("messages[].content[].{name}"), raw)),
        }
    }
    text.ok_or_else(|| Invalid::new(format!("{field}.text"), "must be a string"))
}

/// What a tool returned.
fn result(field: &str, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    let mut message = Message::new(Role::Tool, "");
    for (name, raw) in Body::of_object(field, raw)?.0 {
        let within = format!("{field}.{name}");
        match name.as_str() {
            "type" => {}
            "tool_use_id" => message.tool_call_id = read(&within, raw, "a string")?,
            "content" if raw.get().starts_with('[') => {
                let blocks: Vec<&RawValue> = read(&within, raw, "a list of text blocks")?.unwrap_or_default();
                message.content = Content::Parts(parts(&within, 0, &blocks, lost)?);
            }
            "content" => {
                let text: Option<String> = read(&within, raw, "a string or a list of text blocks")?;
                message.content = Content::Text(text.unwrap_or_default());
            }
            "is_error" if raw.get() == "false" => {}
            _ => lost.extend(ignored(format!("messages[].content[].{name}"), raw)),
        }
    }
    match message.tool_call_id {
        Some(_) => Ok(message),
        None => Err(Invalid::new(
            format!("{field}.tool_use_id"),
            "must be the id of the tool_use that it answers",
        )),
    }
}

fn assistant(
    field: &str,
    from: usize,
    blocks: &[&RawValue],
    recall: &dyn Recall,
    lost: &mut Vec<Cause>,
) -> Result<Message, Invalid> {
    let mut message = Message::new(Role::Assistant, "");
    message.content = Content::Absent;
    for (at, raw) in blocks.iter().enumerate() {
        let field = format!("{field}[{}]", from + at);
        let body = Body::of_object(&field, raw)?;
        match kind(&field, &body)?.as_str() {
            "text" => {
                let more = text(&field, raw, lost)?;
                match &mut message.content {
                    Content::Text(said) => said.push_str(&more),
                    content => *content = Content::Text(more),
                }
            }
            "thinking" | "redacted_thinking" => {
                if let Some(more) = thinking(&field, body, recall, lost)? {
                    message.reasoning.get_or_insert_default().push_str(&more);
                }
            }
            "tool_use" => message.tool_calls.push(call(&field, body, lost)?),
            other => {
                let problem =
                    format!("{other:?} is not supported; send text, thinking, redacted_thinking or tool_use");
                return Err(Invalid::new(format!("{field}.type"), problem));
            }
        }
    }
    Ok(message)
}

/// The text of a thinking block. One that was left out is recalled by its seal, if it is ours and of this session.
fn thinking(
    field: &str,
    body: Body<'_>,
    recall: &dyn Recall,
    lost: &mut Vec<Cause>,
) -> Result<Option<String>, Invalid> {
    let (mut told, mut sealed) = (None::<String>, None::<(String, String)>);
    for (name, raw) in body.0 {
        let within = format!("{field}.{name}");
        match name.as_str() {
            "type" => {}
            "thinking" => told = read(&within, raw, "a string")?,
            "signature" | "data" => {
                let text: Option<String> = read(&within, raw, "a string")?;
                sealed = text.map(|text| (name, text));
            }
            _ => lost.extend(ignored(format!("messages[].content[].{name}"), raw)),
        }
    }
    let told = told.filter(|told| !told.is_empty());
    let seal = sealed.as_ref().and_then(|(name, text)| Some((name, Seal::read(text)?)));
    match (told, seal) {
        (Some(told), Some((name, seal))) if !seal.is_of(&told) => {
            let problem = format!(
                "is of another thinking than this block's {} characters; send the block as it was replied, or leave \
                 it out",
                told.chars().count()
            );
            Err(Invalid::new(format!("{field}.{name}"), problem))
        }
        (Some(told), _) => Ok(Some(told)),
        // A turn that thought more than once is recalled whole by its first block.
        (None, Some((_, seal))) if seal.block > 0 => Ok(None),
        (None, seal) => {
            let known = seal.and_then(|(_, seal)| recall.reply(seal.digits)?.reasoning.clone());
            if let (None, Some((name, _))) = (&known, &sealed) {
                lost.push(Cause::FieldIgnored { field: format!("messages[].content[].{name}") });
            }
            Ok(known)
        }
    }
}

fn call(field: &str, body: Body<'_>, lost: &mut Vec<Cause>) -> Result<ToolCall, Invalid> {
    let (mut id, mut named, mut input) = (None, None, None::<Value>);
    for (name, raw) in body.0 {
        let within = format!("{field}.{name}");
        match name.as_str() {
            "type" => {}
            "id" => id = read(&within, raw, "a string")?,
            "name" => named = read(&within, raw, "a string")?,
            "input" => input = read(&within, raw, "an object")?,
            // Who called: nobody but the model can have.
            "caller" => {}
            _ => lost.extend(ignored(format!("messages[].content[].{name}"), raw)),
        }
    }
    let missing = |name: &str| Invalid::new(format!("{field}.{name}"), "must be a string");
    if id.is_none() {
        return Err(missing("id"));
    }
    let name = named.ok_or_else(|| missing("name"))?;
    let arguments = match input {
        Some(Value::Object(map)) => match (map.len(), map.get(UNPARSED).and_then(Value::as_str)) {
            (1, Some(text)) => Arguments::Text(text.to_owned()),
            _ => Arguments::Json(Value::Object(map)),
        },
        _ => return Err(Invalid::new(format!("{field}.input"), "must be an object")),
    };
    Ok(ToolCall { id, name, arguments })
}
