//! One message of a chat request.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use verbatim_chat::{Arguments, Content, Message, Part, Role, ToolCall};
use verbatim_events::Cause;

use crate::fields::excerpt;
use crate::{Invalid, image};

/// Parses message `at`.
pub(super) fn parse(at: usize, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    let path = |field: &str| format!("messages[{at}]{field}");
    let fields: Map<String, Value> = serde_json::from_str(raw.get())
        .map_err(|error| Invalid::new(path(""), format!("{} is not an object: {error}", excerpt(raw))))?;
    let role = role(&path(".role"), fields.get("role"), lost)?;
    let mut message = Message::new(role, "");
    message.content = Content::Absent;
    for (name, value) in fields {
        let field = path(&format!(".{name}"));
        match (name.as_str(), value) {
            ("role", _) | (_, Value::Null) => {}
            ("content", value) => message.content = content(&field, role, value, lost)?,
            ("reasoning_content" | "reasoning", Value::String(text)) if role == Role::Assistant => {
                message.reasoning = Some(text);
            }
            ("tool_calls", value) if role == Role::Assistant => {
                message.tool_calls = calls(&field, value, lost)?
            }
            ("tool_call_id", Value::String(id)) if role == Role::Tool => message.tool_call_id = Some(id),
            ("name", Value::String(name)) => message.name = Some(name),
            ("function_call", _) => {
                return Err(Invalid::new(field, "is not supported; use tool_calls"));
            }
            ("reasoning_content" | "reasoning" | "tool_call_id" | "name", value) if !value.is_string() => {
                return Err(Invalid::new(field, format!("{value} is not a string")));
            }
            _ => lost.push(Cause::FieldIgnored { field: format!("messages[].{name}") }),
        }
    }
    if role != Role::Assistant && message.content == Content::Absent {
        let problem = "must be a string or a list of parts; only an assistant's may be null";
        return Err(Invalid::new(path(".content"), problem));
    }
    Ok(message)
}

fn role(field: &str, value: Option<&Value>, lost: &mut Vec<Cause>) -> Result<Role, Invalid> {
    let expected = "must be one of \"system\", \"developer\", \"user\", \"assistant\", \"tool\"";
    match value.and_then(Value::as_str) {
        Some("system") => Ok(Role::System),
        Some("developer") => {
            lost.push(Cause::RoleMapped { from: "developer".into() });
            Ok(Role::System)
        }
        Some("user") => Ok(Role::User),
        Some("assistant") => Ok(Role::Assistant),
        Some("tool") => Ok(Role::Tool),
        Some(other) => Err(Invalid::new(field, format!("{other:?} {expected}"))),
        None => Err(Invalid::new(field, expected)),
    }
}

/// Reports the fields of an object that say something and are not known.
fn ignored(value: &Value, known: &[&str], path: &str, lost: &mut Vec<Cause>) {
    let fields = value.as_object().into_iter().flatten();
    let unknown = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    lost.extend(unknown.map(|(name, _)| Cause::FieldIgnored { field: format!("{path}.{name}") }));
}

fn content(field: &str, role: Role, value: Value, lost: &mut Vec<Cause>) -> Result<Content, Invalid> {
    match value {
        Value::String(text) => Ok(Content::Text(text)),
        Value::Array(parts) => parts
            .into_iter()
            .enumerate()
            .map(|(at, value)| part(&format!("{field}[{at}]"), role, value, lost))
            .collect::<Result<_, _>>()
            .map(Content::Parts),
        other => Err(Invalid::new(field, format!("{other} is not a string or a list of parts"))),
    }
}

fn part(field: &str, role: Role, value: Value, lost: &mut Vec<Cause>) -> Result<Part, Invalid> {
    let shows = matches!(role, Role::User | Role::Tool);
    match (value.get("type").and_then(Value::as_str), value.get("text")) {
        (Some("text"), Some(Value::String(text))) => {
            ignored(&value, &["type", "text"], "messages[].content[]", lost);
            Ok(Part::Text(text.clone()))
        }
        (Some("text"), _) => Err(Invalid::new(format!("{field}.text"), "must be a string")),
        (Some("image_url"), _) if shows => shown(field, &value, lost),
        (Some("image_url"), _) => {
            let problem = format!("\"image_url\" is not supported in a {role} message; show it in a user's");
            Err(Invalid::new(format!("{field}.type"), problem))
        }
        (Some(kind), _) => {
            let taken = if shows { "text or image_url parts" } else { "text parts" };
            Err(Invalid::new(format!("{field}.type"), format!("{kind:?} is not supported; send {taken}")))
        }
        (None, _) => Err(Invalid::new(format!("{field}.type"), "must be \"text\" or \"image_url\"")),
    }
}

/// An image.
fn shown(field: &str, value: &Value, lost: &mut Vec<Cause>) -> Result<Part, Invalid> {
    ignored(value, &["type", "image_url"], "messages[].content[]", lost);
    let field = format!("{field}.image_url");
    let source = value.get("image_url").filter(|source| source.is_object());
    let source = source.ok_or_else(|| Invalid::new(&*field, "must be an object with a url"))?;
    // Every image is read as its family reads it.
    let idle = source.get("detail").is_some_and(|detail| detail == "auto");
    ignored(source, if idle { &["url", "detail"] } else { &["url"] }, "messages[].content[].image_url", lost);
    let field = format!("{field}.url");
    match source.get("url") {
        Some(Value::String(url)) => image::of_url(&field, url),
        _ => Err(Invalid::new(field, "must be a string")),
    }
}

fn calls(field: &str, value: Value, lost: &mut Vec<Cause>) -> Result<Vec<ToolCall>, Invalid> {
    let Value::Array(calls) = value else {
        return Err(Invalid::new(field, format!("{value} is not a list of tool calls")));
    };
    calls.into_iter().enumerate().map(|(at, value)| call(&format!("{field}[{at}]"), &value, lost)).collect()
}

fn call(field: &str, value: &Value, lost: &mut Vec<Cause>) -> Result<ToolCall, Invalid> {
    // A call's index is its place in the list, which clients that add up a stream leave in.
    ignored(value, &["id", "type", "index", "function"], "messages[].tool_calls[]", lost);
    let function = value
        .get("function")
        .filter(|function| function.is_object())
        .ok_or_else(|| Invalid::new(format!("{field}.function"), "must be an object"))?;
    ignored(function, &["name", "arguments"], "messages[].tool_calls[].function", lost);
    let name = function
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| Invalid::new(format!("{field}.function.name"), "must be a string"))?;
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => Arguments::Text(String::new()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(object @ Value::Object(_)) => Arguments::Json(object.clone()),
        Some(other) => {
            let problem = format!("{other} is neither JSON text nor an object");
            return Err(Invalid::new(format!("{field}.function.arguments"), problem));
        }
    };
    let id = match value.get("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(other) => return Err(Invalid::new(format!("{field}.id"), format!("{other} is not a string"))),
    };
    Ok(ToolCall { id, name: name.to_owned(), arguments })
}
