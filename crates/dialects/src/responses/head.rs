//! What an item is, read without reading the item.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// An item's `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Message,
    Reasoning,
    FunctionCall,
    FunctionCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    ItemReference,
    #[serde(other)]
    Other,
}

/// A message's `role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speaker {
    User,
    Assistant,
    System,
    Developer,
    #[serde(other)]
    Other,
}

/// Type and role of an item. Of a field that is there twice the last counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    kind: Option<Kind>,
    pub(super) speaker: Option<Speaker>,
}

impl Head {
    /// The type; what has a role and no type is a message.
    pub(super) fn kind(self) -> Kind {
        match (self.kind, self.speaker) {
            (Some(kind), _) => kind,
            (None, Some(_)) => Kind::Message,
            (None, None) => Kind::Other,
        }
    }

    /// Whether the item is part of what an assistant said.
    pub(super) fn is_assistants(self) -> bool {
        match self.kind() {
            Kind::Message => self.speaker == Some(Speaker::Assistant),
            Kind::Reasoning | Kind::FunctionCall | Kind::CustomToolCall | Kind::ItemReference => true,
            Kind::FunctionCallOutput | Kind::CustomToolCallOutput | Kind::Other => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Type,
    Role,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Head;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item: an object with a type")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
                let mut head = Head::default();
                while let Some(field) = map.next_key()? {
                    match field {
                        Field::Type => head.kind = map.next_value()?,
                        Field::Role => head.speaker = map.next_value()?,
                        Field::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(head)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
