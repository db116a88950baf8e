//! An assistant's items as one message.
//!
//! The invariant: reasoning comes from the first of these that an item has: our own seal, if it is whole; its
//! content; its summary. None of them is absent reasoning, which a matcher for real agents lets pass.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_events::Cause;

use super::content::{self, Images};
use super::head::Kind;
use super::input::Item;
use crate::body::Body;
use crate::fields::{ignored, read};
use crate::seal::Seal;
use crate::{Invalid, Recall};

/// One message of items that stand from `at` on.
pub(super) fn parse(
    at: usize,
    items: &[Item<'_>],
    recall: &dyn Recall,
    lost: &mut Vec<Cause>,
) -> Result<Message, Invalid> {
    let mut reader =
        Reader { recall, lost, known: HashMap::new(), message: Message::new(Role::Assistant, "") };
    reader.message.content = Content::Absent;
    for (offset, item) in items.iter().enumerate() {
        let field = format!("input[{}]", at + offset);
        match item.head.kind() {
            Kind::Message => reader.text(&field, item.raw)?,
            Kind::Reasoning => reader.reasoning(&field, item.raw)?,
            Kind::ItemReference => reader.reference(&field, item.raw)?,
            _ => reader.call(&field, item.raw)?,
        }
    }
    Ok(reader.message)
}

struct Reader<'a> {
    recall: &'a dyn Recall,
    lost: &'a mut Vec<Cause>,
    /// Replies that were named.
    known: HashMap<String, Option<Arc<Message>>>,
    message: Message,
}

impl Reader<'_> {
    fn reply(&mut self, digits: &str) -> Option<Arc<Message>> {
        let recall = self.recall;
        self.known.entry(digits.to_owned()).or_insert_with(|| recall.reply(digits)).clone()
    }

    fn text(&mut self, field: &str, raw: &RawValue) -> Result<(), Invalid> {
        let mut said = None;
        for (name, raw) in Body::of_object(field, raw)?.0 {
            match name.as_str() {
                "type" | "role" | "id" | "status" => {}
                "content" => {
                    said = Some(content::parse(&format!("{field}.content"), raw, Images::Refused, self.lost)?)
                }
                _ => self.lost.extend(ignored(format!("input[].{name}"), raw)),
            }
        }
        let said = said.ok_or_else(|| {
            Invalid::new(format!("{field}.content"), "must be a string or a list of text parts")
        })?;
        self.say(&said.text());
        Ok(())
    }

    fn say(&mut self, text: &str) {
        match &mut self.message.content {
            Content::Text(said) => said.push_str(text),
            content => *content = Content::from(text),
        }
    }

    fn think(&mut self, text: &str) {
        self.message.reasoning.get_or_insert_default().push_str(text);
    }

    fn reasoning(&mut self, field: &str, raw: &RawValue) -> Result<(), Invalid> {
        let (mut sealed, mut content, mut summary) = (None, None, None);
        for (name, raw) in Body::of_object(field, raw)?.0 {
            let within = format!("{field}.{name}");
            match name.as_str() {
                "type" | "id" | "status" => {}
                "encrypted_content" => sealed = read::<Cow<'_, str>>(&within, raw, "a string")?,
                "content" => content = texts(&within, raw, "", self.lost)?,
                "summary" => summary = texts(&within, raw, "\n\n", self.lost)?,
                _ => self.lost.extend(ignored(format!("input[].{name}"), raw)),
            }
        }
        let seal = sealed.as_deref().and_then(Seal::read);
        if let Some(seal) = &seal {
            let told = content.as_ref().or(summary.as_ref());
            if told.is_some_and(|told| !seal.is_of(told)) {
                let problem = "is of another reasoning than this item holds; send the item as it was replied, or \
                               without its encrypted_content";
                return Err(Invalid::new(format!("{field}.encrypted_content"), problem));
            }
        }
        match (content.or(summary), seal) {
            (Some(text), _) => self.think(&text),
            (None, Some(seal)) => match self.reply(seal.digits).and_then(|reply| reply.reasoning.clone()) {
                // A turn that thought more than once is recalled whole by its first block.
                Some(whole) if seal.block == 0 => self.think(&whole),
                Some(_) => {}
                None => self.lose("encrypted_content"),
            },
            (None, None) if sealed.as_ref().is_some_and(|sealed| !sealed.is_empty()) => {
                self.lose("encrypted_content")
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn lose(&mut self, name: &str) {
        self.lost.push(Cause::FieldIgnored { field: format!("input[].{name}") });
    }

    fn call(&mut self, field: &str, raw: &RawValue) -> Result<(), Invalid> {
        let (mut id, mut name, mut arguments) = (None, None, Arguments::Text(String::new()));
        for (key, raw) in Body::of_object(field, raw)?.0 {
            let within = format!("{field}.{key}");
            match key.as_str() {
                "type" | "id" | "status" => {}
                "call_id" => id = read(&within, raw, "a string")?,
                "name" => name = read(&within, raw, "a string")?,
                "arguments" => {
                    let text: Option<String> = read(&within, raw, "JSON text")?;
                    arguments = Arguments::Text(text.unwrap_or_default());
                }
                "input" => {
                    let text: Option<String> = read(&within, raw, "a string")?;
                    arguments = Arguments::Json(json!({"input": text.unwrap_or_default()}));
                }
                _ => self.lost.extend(ignored(format!("input[].{key}"), raw)),
            }
        }
        let name = name.ok_or_else(|| Invalid::new(format!("{field}.name"), "must be a string"))?;
        if id.is_none() {
            return Err(Invalid::new(format!("{field}.call_id"), "must be a string"));
        }
        self.message.tool_calls.push(ToolCall { id, name, arguments });
        Ok(())
    }

    /// An item of a reply, by its id.
    fn reference(&mut self, field: &str, raw: &RawValue) -> Result<(), Invalid> {
        let within = format!("{field}.id");
        let body = Body::of_object(field, raw)?;
        let id: Option<String> = body.get("id").map_or(Ok(None), |raw| read(&within, raw, "a string"))?;
        let id = id.unwrap_or_default();
        let unknown = || {
            let problem = format!("{id:?} is no item that this session replied; send the item itself");
            Invalid::new(within.clone(), problem)
        };
        let (kind, rest) = id.split_once('_').ok_or_else(unknown)?;
        let (digits, part) = rest.split_at_checked(32).ok_or_else(unknown)?;
        let part = part.strip_prefix('_').map_or(Ok(0), |part| part.parse().map_err(|_| unknown()))?;
        let reply = self.reply(digits).ok_or_else(unknown)?;
        match (kind, part) {
            ("rs", 0) => self.think(reply.reasoning.as_deref().unwrap_or_default()),
            ("msg", 0) => self.say(&reply.content.text()),
            // What a reply said in pieces is recalled whole by the first.
            ("rs" | "msg", _) => {}
            ("fc", part) => {
                self.message.tool_calls.push(reply.tool_calls.get(part).ok_or_else(unknown)?.clone());
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// The texts of a list of parts, joined; `None` where there is none.
fn texts(
    field: &str,
    raw: &RawValue,
    between: &str,
    lost: &mut Vec<Cause>,
) -> Result<Option<String>, Invalid> {
    if matches!(raw.get(), "null" | "[]") {
        return Ok(None);
    }
    let Content::Parts(parts) = content::parse(field, raw, Images::Refused, lost)? else {
        return Err(Invalid::new(field, "must be a list of text parts"));
    };
    let texts: Vec<_> = parts.iter().filter_map(verbatim_chat::Part::text).collect();
    Ok(Some(texts.join(between)))
}
