//! What a tool's schema says of its parameters.
//!
//! The invariant: a value that a model wrote as bare text becomes what the schema declares and
//! nothing else. A string parameter stays the string it is, `false` and `007` included; a value
//! that fits no declared type is a string, too.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::Tool;

use crate::python::{Node, Style, dumps};

/// How deep a schema is followed.
const DEEPEST: usize = 8;

/// A set of JSON's types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u8);

const STRING: u8 = 1;
const NUMBER: u8 = 2;
const BOOLEAN: u8 = 4;
const NULL: u8 = 8;
const ARRAY: u8 = 16;
const OBJECT: u8 = 32;

/// The parameters' types, by function and parameter.
#[derive(Debug, Default)]
pub(crate) struct Types(HashMap<String, HashMap<String, Kinds>>);

impl Types {
    /// Reads the declarations.
    pub(crate) fn of(tools: &[Tool]) -> Self {
        let entry = |tool: &Tool| {
            let function = tool.0.get("function").unwrap_or(&tool.0);
            let schema = function.get("parameters")?;
            let properties = schema.get("properties")?.as_object()?;
            let kinds = properties.iter().map(|(name, of)| (name.clone(), kinds(of, schema, 0)));
            Some((tool.name()?.to_owned(), kinds.collect()))
        };
        Self(tools.iter().filter_map(entry).collect())
    }

    /// A bare text as JSON text.
    pub(super) fn value(&self, function: &str, parameter: &str, text: &str) -> String {
        let known = self.0.get(function).and_then(|parameters| parameters.get(parameter));
        let Kinds(kinds) = known.copied().unwrap_or_default();
        let bare = text.trim();
        let is = |kind: u8| kinds & kind != 0;
        if is(NULL) && matches!(bare, "null" | "None") {
            return "null".to_owned();
        }
        if !is(STRING) {
            match bare {
                "true" | "True" if is(BOOLEAN) => return "true".to_owned(),
                "false" | "False" if is(BOOLEAN) => return "false".to_owned(),
                _ => {}
            }
            let begins = bare.as_bytes().first().copied().unwrap_or_default();
            let fits = match begins {
                b'{' => is(OBJECT),
                b'[' => is(ARRAY),
                b'-' | b'0'..=b'9' => is(NUMBER),
                _ => false,
            };
            if fits && serde_json::from_str::<&RawValue>(bare).is_ok() {
                return bare.to_owned();
            }
        }
        self::text(text)
    }
}

/// A text as JSON text.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    dumps(&Node::Text(text.to_owned()), &Style::default(), &mut out);
    out
}

/// The types that a schema lets pass. One that says nothing of types lets strings pass.
fn kinds(schema: &Value, root: &Value, depth: usize) -> Kinds {
    let mut found = 0;
    let mut more = |Kinds(kinds): Kinds| found |= kinds;
    match schema.get("type") {
        Some(Value::String(name)) => more(named(name)),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).for_each(|name| more(named(name)))
        }
        _ => {}
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        more(Kinds(NULL));
    }
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    if schema.get("type").is_none() {
        values.chain(schema.get("const")).for_each(|value| more(of_value(value)));
    }
    if depth < DEEPEST {
        for key in ["anyOf", "oneOf", "allOf"] {
            let choices = schema.get(key).and_then(Value::as_array).into_iter().flatten();
            choices.for_each(|choice| more(kinds(choice, root, depth + 1)));
        }
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        if let Some(target) = target.and_then(|path| root.pointer(path)) {
            more(kinds(target, root, depth + 1));
        }
    }
    if found == 0 && schema.get("properties").is_some() {
        found = OBJECT;
    } else if found == 0 && schema.get("items").is_some() {
        found = ARRAY;
    } else if found == 0 {
        found = STRING;
    }
    Kinds(found)
}

fn named(name: &str) -> Kinds {
    Kinds(match name {
        "number" | "integer" => NUMBER,
        "boolean" => BOOLEAN,
        "null" => NULL,
        "array" => ARRAY,
        "object" => OBJECT,
        _ => STRING,
    })
}

fn of_value(value: &Value) -> Kinds {
    Kinds(match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(_) => NUMBER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    })
}

/// An object in the making: keys in the order in which they came. A format asks whether a key is there
/// before it puts it: of two values one would be lost.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Whether a key has a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// Adds a value that is JSON text.
    pub(super) fn put(&mut self, key: &str, value: String) {
        self.0.push((key.to_owned(), value));
    }

    /// The object as JSON text, spaced as Python spaces it.
    pub(super) fn finish(self) -> String {
        let style = Style::default();
        let mut out = "{".to_owned();
        for (at, (key, value)) in self.0.into_iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            dumps(&Node::Text(key), &style, &mut out);
            out.push_str(": ");
            out.push_str(&value);
        }
        out.push('}');
        out
    }
}
