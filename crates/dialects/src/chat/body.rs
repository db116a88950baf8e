//! A JSON object split into its fields.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of a JSON object, unparsed, in order. Of a field that is there twice the last counts.
pub(super) struct Body<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Body<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Body<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push((name, value));
                }
                let mut seen = HashSet::new();
                let last: Vec<bool> =
                    fields.iter().rev().map(|(name, _)| seen.insert(name.as_str())).collect();
                let mut last = last.into_iter().rev();
                fields.retain(|_| last.next().unwrap_or(true));
                Ok(Body(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
