//! Content blocks before they are parsed: what kind they are, and their bytes without cache marks.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::body::Body;

const MARK: &str = "cache_control";

/// Whether a block is a tool's result; of a `type` that is there twice the last counts.
pub(super) struct IsResult(pub(super) bool);

#[derive(PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    ToolResult,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Type,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for IsResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = IsResult;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block: an object with a type")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IsResult, A::Error> {
                let mut is_result = false;
                while let Some(field) = map.next_key()? {
                    match field {
                        Field::Type => is_result = map.next_value::<Kind>()? == Kind::ToolResult,
                        Field::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(IsResult(is_result))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The block as it would have been sent without a cache mark: agents move the mark with every turn. Only a mark of
/// the block's own counts; one inside a call's input is the model's word.
pub(super) fn unmarked(raw: &RawValue) -> Cow<'_, str> {
    let text = raw.get();
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    match serde_json::from_str::<Body<'_>>(text) {
        Ok(body) if body.get(MARK).is_some() => {
            let fields = body.0.iter().filter(|(name, _)| name != MARK).map(|(name, value)| {
                let name = serde_json::Value::from(name.as_str());
                format!("{name}:{}", value.get())
            });
            Cow::Owned(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> String {
        unmarked(serde_json::from_str(text).unwrap()).into_owned()
    }

    #[test]
    fn a_mark_leaves_no_trace_and_nothing_else_is_taken_for_one() {
        let plain = r#"{"type":"text","text":"a, \"cache_control\":{}"}"#;
        assert_eq!(without(plain), plain);
        let marked = plain.replace("\"}", r#"","cache_control":{"type":"ephemeral"}}"#);
        assert_eq!(without(&marked), plain);
        let first = r#"{"cache_control":{"type":"ephemeral"},"type":"text","text":"é\u00e9"}"#;
        assert_eq!(without(first), r#"{"type":"text","text":"é\u00e9"}"#);
        let call = r#"{"type":"tool_use","input":{"cache_control":{"type":"ephemeral"}}}"#;
        assert_eq!(without(call), call);
    }
}
