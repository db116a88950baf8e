//! Fixed-size names for messages and for paths of messages.

use serde::{Deserialize, Serialize};

use crate::Setup;

/// A hash under which equal things are found: 128 bits of BLAKE3. Within one key, equality still
/// has to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub u128);

impl Key {
    /// Hashes fields, each preceded by its length so that their borders count.
    pub fn of<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes()).update(field);
        }
        let mut first = [0; 16];
        hasher.finalize_xof().fill(&mut first);
        Self(u128::from_le_bytes(first))
    }

    fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

/// The key of a path: the root, then one message after another. Extending it costs one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chain(Key);

impl Chain {
    /// The path before any message: tools and template arguments.
    ///
    /// Key order inside them counts, because it decides what is rendered.
    pub fn root(setup: &Setup) -> Self {
        let tools: Vec<String> = setup.tools.iter().map(|tool| tool.0.to_string()).collect();
        let template: Vec<String> =
            setup.template.iter().flat_map(|(name, value)| [name.clone(), value.to_string()]).collect();
        let border = (tools.len() as u64).to_le_bytes();
        let texts = tools.iter().chain(&template).map(String::as_bytes);
        Self(Key::of(std::iter::once(&border[..]).chain(texts)))
    }

    /// A path that begins with `key` itself, for chains over something other than messages.
    pub fn from_key(key: Key) -> Self {
        Self(key)
    }

    /// The path with one more message.
    #[must_use]
    pub fn then(self, message: Key) -> Self {
        Self(Key::of([&self.0.bytes()[..], &message.bytes()[..]]))
    }
}
