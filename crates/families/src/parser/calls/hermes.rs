//! Hermes' calls, which Qwen2.5 and Qwen3 write: one JSON object between two marks.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Body, Call, CallFormat, Shelter, Types, Written};
use crate::python::{Node, Style, dumps};

/// `<tool_call>`, an object with `name` and `arguments`, `</tool_call>`, each on its line.
#[derive(Debug)]
pub(crate) struct Hermes;

/// The format.
pub(crate) const HERMES: &Hermes = &Hermes;

/// `parameters` is what SGLang takes for `arguments`, too.
#[derive(Deserialize)]
struct Shape<'a> {
    name: String,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

impl CallFormat for Hermes {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<tool_call>", "</tool_call>")
    }

    fn shelter(&self) -> Shelter {
        Shelter::JsonString
    }

    /// One JSON object with a name and with arguments that are an object. Arguments that are not
    /// there are `{}`, as in SGLang, but only where nothing else is there either: it may be arguments
    /// under a name that was spelt wrongly, and would be lost. Whether the function was declared is not looked at: that is
    /// the agent's affair.
    fn read(&self, body: Body<'_>, _types: &Types) -> Option<Vec<Call>> {
        let shape: Shape<'_> = serde_json::from_str(body.text).ok()?;
        let arguments = match shape.arguments {
            Some(arguments) => arguments.get(),
            None => is_name_alone(body.text).then_some("{}")?,
        };
        let valid = !shape.name.is_empty() && arguments.starts_with('{');
        valid.then(|| vec![Call { id: None, name: shape.name, arguments: arguments.to_owned() }])
    }

    fn around(&self, name: &str) -> Option<(String, &'static str)> {
        Some((format!("\n{{\"name\": \"{name}\", \"arguments\": "), "}\n"))
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str("\n{\"name\": \"");
        out.push_str(call.name);
        out.push_str("\", \"arguments\": ");
        dumps(&Node::Map(call.arguments.to_vec()), &Style::default(), out);
        out.push_str("}\n");
    }
}

/// Whether an object that has a name has nothing else.
fn is_name_alone(text: &str) -> bool {
    serde_json::from_str::<HashMap<String, IgnoredAny>>(text).is_ok_and(|object| object.len() == 1)
}
