//! A JSON object split into its fields.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Invalid;
use crate::fields::excerpt;

/// The fields of a JSON object, unparsed, in order. Of a field that is there twice the last counts.
pub(crate) struct Body<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Body<'a> {
    /// The fields of a request's body.
    pub(crate) fn of_request(body: &'a [u8]) -> Result<Self, Invalid> {
        let text =
            std::str::from_utf8(body).map_err(|error| Invalid::new("body", format!("not UTF-8: {error}")))?;
        serde_json::from_str(text)
            .map_err(|error| Invalid::new("body", format!("not a JSON object: {error}")))
    }

    /// The fields of an object within a request.
    pub(crate) fn of_object(field: &str, raw: &'a RawValue) -> Result<Self, Invalid> {
        serde_json::from_str(raw.get())
            .map_err(|error| Invalid::new(field, format!("{} is not an object: {error}", excerpt(raw))))
    }

    /// A field of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| *value)
    }
}

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
