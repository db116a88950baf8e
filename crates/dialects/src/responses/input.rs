//! Items grouped into messages.
//!
//! The invariant: what an assistant said in one turn (reasoning, text, calls) is one message, as it was one reply;
//! every other item is a message of its own. Nothing but types and roles is read for that.

use std::ops::Range;

use serde_json::value::RawValue;
use verbatim_chat::{Message, Role};
use verbatim_events::Cause;

use super::content::Images;
use super::head::{Head, Kind, Speaker};
use super::{assistant, content};
use crate::body::Body;
use crate::fields::{excerpt, ignored, read};
use crate::{Invalid, Recall};

/// What stands in `input`.
#[derive(Default)]
pub(super) enum Input<'a> {
    /// Nothing.
    #[default]
    Absent,
    /// One user's text.
    Text(&'a RawValue),
    /// Items, and which of them are which message.
    Items { items: Vec<Item<'a>>, groups: Vec<Range<usize>> },
}

/// An item that was not parsed.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) head: Head,
    pub(super) raw: &'a RawValue,
}

impl<'a> Input<'a> {
    pub(super) fn split(raw: &'a RawValue) -> Result<Self, Invalid> {
        let expected = "a string or a list of items";
        if raw.get().starts_with('"') {
            return Ok(Self::Text(raw));
        }
        let items: Vec<&RawValue> = read("input", raw, expected)?.unwrap_or_default();
        let items: Vec<Item<'_>> = items
            .into_iter()
            .enumerate()
            .map(|(at, raw)| {
                let head = serde_json::from_str(raw.get()).map_err(|error| {
                    Invalid::new(format!("input[{at}]"), format!("{} is no item: {error}", excerpt(raw)))
                })?;
                Ok(Item { head, raw })
            })
            .collect::<Result<_, _>>()?;
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let joins = item.head.is_assistants()
                && groups.last().is_some_and(|group| items[group.start].head.is_assistants());
            match groups.last_mut() {
                Some(group) if joins => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        Ok(Self::Items { items, groups })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Text(_) => 1,
            Self::Items { groups, .. } => groups.len(),
        }
    }

    /// The bytes of message `at`.
    pub(super) fn bytes(&self, at: usize) -> impl Iterator<Item = &'a [u8]> + '_ {
        let (text, items) = match self {
            Self::Absent => (None, &[][..]),
            Self::Text(raw) => (Some(*raw), &[][..]),
            Self::Items { items, groups } => {
                (None, groups.get(at).map_or(&[][..], |group| &items[group.clone()]))
            }
        };
        text.into_iter().chain(items.iter().map(|item| item.raw)).map(|raw| raw.get().as_bytes())
    }

    pub(super) fn message(
        &self,
        at: usize,
        recall: &dyn Recall,
        lost: &mut Vec<Cause>,
    ) -> Result<Message, Invalid> {
        let missing = || Invalid::new(format!("input[{at}]"), "is not there");
        match self {
            Self::Absent => Err(missing()),
            Self::Text(raw) => {
                let text: Option<String> = read("input", raw, "a string")?;
                Ok(Message::new(Role::User, text.unwrap_or_default().as_str()))
            }
            Self::Items { items, groups } => {
                let group = groups.get(at).ok_or_else(missing)?.clone();
                let first = items[group.start];
                if first.head.is_assistants() {
                    return assistant::parse(group.start, &items[group], recall, lost);
                }
                let field = format!("input[{}]", group.start);
                match first.head.kind() {
                    Kind::Message => spoken(&field, first, lost),
                    Kind::FunctionCallOutput | Kind::CustomToolCallOutput => output(&field, first.raw, lost),
                    _ => Err(unknown(&field, first.raw)),
                }
            }
        }
    }
}

fn unknown(field: &str, raw: &RawValue) -> Invalid {
    let kind =
        Body::of_object(field, raw).ok().and_then(|body| body.get("type")).map_or("none", RawValue::get);
    let taken = "message, reasoning, function_call, function_call_output, custom_tool_call, \
                 custom_tool_call_output or item_reference";
    Invalid::new(format!("{field}.type"), format!("{kind} is not supported; send {taken}"))
}

/// A message of whoever is no assistant.
fn spoken(field: &str, item: Item<'_>, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    let body = Body::of_object(field, item.raw)?;
    let role = match item.head.speaker {
        Some(Speaker::User) => Role::User,
        Some(Speaker::System) => Role::System,
        Some(Speaker::Developer) => {
            lost.push(Cause::RoleMapped { from: "developer".into() });
            Role::System
        }
        _ => {
            let role = body.get("role").map_or("nothing", RawValue::get);
            let problem = format!("{role} is not one of \"user\", \"assistant\", \"system\", \"developer\"");
            return Err(Invalid::new(format!("{field}.role"), problem));
        }
    };
    let mut message = Message::new(role, "");
    let mut said = false;
    for (name, raw) in body.0 {
        match name.as_str() {
            "type" | "role" | "id" | "status" => {}
            "content" => {
                let images = if role == Role::User { Images::Taken } else { Images::Refused };
                message.content = content::parse(&format!("{field}.content"), raw, images, lost)?;
                said = true;
            }
            _ => lost.extend(ignored(format!("input[].{name}"), raw)),
        }
    }
    if !said {
        return Err(Invalid::new(format!("{field}.content"), "must be a string or a list of parts"));
    }
    Ok(message)
}

/// What a tool returned.
fn output(field: &str, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Message, Invalid> {
    let mut message = Message::new(Role::Tool, "");
    let mut said = false;
    for (name, raw) in Body::of_object(field, raw)?.0 {
        match name.as_str() {
            "type" | "id" | "status" => {}
            "call_id" => message.tool_call_id = read(&format!("{field}.call_id"), raw, "a string")?,
            "output" => {
                message.content = content::parse(&format!("{field}.output"), raw, Images::Taken, lost)?;
                said = true;
            }
            _ => lost.extend(ignored(format!("input[].{name}"), raw)),
        }
    }
    if message.tool_call_id.is_none() {
        return Err(Invalid::new(
            format!("{field}.call_id"),
            "must be the call_id of the call that it answers",
        ));
    }
    if !said {
        return Err(Invalid::new(format!("{field}.output"), "must be a string or a list of parts"));
    }
    Ok(message)
}
