//! `json.loads`, where it matters what a number was.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Node;

/// How deep a document may nest; what is deeper is no document, here as in serde_json.
const DEEPEST: usize = 128;

/// Reads a document, `None` where the text is none.
///
/// Integers keep all their digits, a repeated key keeps its first place and its last value. Unlike
/// Python's, this reader refuses `NaN`, `Infinity` and lone surrogates, which are not JSON.
pub(crate) fn loads(text: &str) -> Option<Node> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    read(raw, 0)
}

fn read(raw: &RawValue, depth: usize) -> Option<Node> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'{' | b'[' if depth == DEEPEST => None,
        b'{' => {
            let Pairs(pairs) = serde_json::from_str(text).ok()?;
            let mut places: HashMap<String, usize> = HashMap::with_capacity(pairs.len());
            let mut map: Vec<(String, Node)> = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                let value = read(value, depth + 1)?;
                match places.get(&key) {
                    Some(at) => map[*at].1 = value,
                    None => {
                        places.insert(key.clone(), map.len());
                        map.push((key, value));
                    }
                }
            }
            Some(Node::Map(map))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            Some(Node::List(items.into_iter().map(|item| read(item, depth + 1)).collect::<Option<_>>()?))
        }
        b'"' => Some(Node::Text(serde_json::from_str(text).ok()?)),
        b't' => Some(Node::Bool(true)),
        b'f' => Some(Node::Bool(false)),
        b'n' => Some(Node::Null),
        _ if text.contains(['.', 'e', 'E']) => Some(Node::Float(text.parse().ok()?)),
        _ => Some(Node::Int(if text == "-0" { "0".to_owned() } else { text.to_owned() })),
    }
}

/// The entries of an object, each value still as text.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
