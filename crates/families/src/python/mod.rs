//! What Python would have written.
//!
//! The invariant: official templates are run by Python, so a number, a string or a document in a
//! prompt is spelled as CPython spells it. One implementation serves the native families and the
//! template engine.

mod float;
mod json;
mod parse;
mod repr;
mod strip;

pub(crate) use float::float;
pub(crate) use json::{Style, dumps};
pub(crate) use parse::loads;
pub(crate) use repr::display;
pub(crate) use strip::{lstrip, rstrip, strip};

/// A JSON document as Python holds it: integers of any size, keys in the order of insertion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An integer's decimal digits.
    Int(String),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A dict.
    Map(Vec<(String, Node)>),
}

impl From<&serde_json::Value> for Node {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(*flag),
            serde_json::Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => Self::Float(float),
                _ => Self::Int(number.to_string()),
            },
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(list) => Self::List(list.iter().map(Self::from).collect()),
            serde_json::Value::Object(map) => {
                Self::Map(map.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect())
            }
        }
    }
}

impl Node {
    /// Rewrites every string in it, keys included.
    pub(crate) fn map_text(&mut self, rewrite: &impl Fn(&str) -> String) {
        match self {
            Self::Text(text) => *text = rewrite(text),
            Self::List(list) => list.iter_mut().for_each(|item| item.map_text(rewrite)),
            Self::Map(map) => map.iter_mut().for_each(|(key, value)| {
                *key = rewrite(key);
                value.map_text(rewrite);
            }),
            _ => {}
        }
    }
}
