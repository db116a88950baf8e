//! Llama 3's calls: a turn that is a JSON object, or what follows the token `<|python_tag|>`. Nothing
//! closes a call; it ends with the turn.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Body, Call, CallFormat, Shelter, Types, Written};
use crate::python::{Node, Style, dumps};

/// `{"name": NAME, "parameters": OBJECT}`, several with `;` between them, as SGLang reads them.
#[derive(Debug)]
pub(crate) struct Bare;

/// The format.
pub(crate) const LLAMA: &Bare = &Bare;

/// One call. Both names of the arguments are the models' own.
#[derive(Deserialize)]
struct Shape<'a> {
    name: String,
    #[serde(borrow, alias = "arguments")]
    parameters: &'a RawValue,
}

impl CallFormat for Bare {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<|python_tag|>", "")
    }

    fn shelter(&self) -> Shelter {
        Shelter::JsonString
    }

    fn is_block(&self) -> bool {
        true
    }

    fn opener(&self, content: &str) -> &'static str {
        if content.is_empty() { "" } else { self.marks().0 }
    }

    fn ends_with_turn(&self) -> bool {
        true
    }

    fn is_single(&self) -> bool {
        true
    }

    /// Objects with a name and with arguments that are an object, and nothing beside them.
    fn read(&self, body: Body<'_>, _types: &Types) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        let mut rest = body.text.trim();
        while !rest.is_empty() {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Shape<'_>>();
            let shape = values.next()?.ok()?;
            let arguments = shape.parameters.get().to_owned();
            if shape.name.is_empty() || !arguments.starts_with('{') {
                return None;
            }
            rest = rest[values.byte_offset()..].trim_start();
            rest = rest.strip_prefix(';').unwrap_or(rest).trim_start();
            calls.push(Call { id: None, name: shape.name, arguments });
        }
        (!calls.is_empty()).then_some(calls)
    }

    fn around(&self, name: &str) -> Option<(String, &'static str)> {
        Some((format!("{{\"name\": \"{name}\", \"parameters\": "), "}"))
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(if call.nth > 0 { ";" } else { "" });
        out.push_str("{\"name\": \"");
        out.push_str(call.name);
        out.push_str("\", \"parameters\": ");
        dumps(&Node::Map(call.arguments.to_vec()), &Style::default(), out);
        out.push('}');
    }
}
