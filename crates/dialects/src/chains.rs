//! Keys over the bytes of a request.
//!
//! The invariant: `after(n)` is equal for two requests of a dialect only if what they are rendered with and
//! their first `n` messages are, byte for byte.

use verbatim_chat::{Chain, Key};

/// The key of every beginning of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains(Vec<Chain>);

impl Chains {
    /// The beginning that holds no message: tools, template arguments, whatever else decides what is rendered.
    pub(crate) fn from_root<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(vec![Chain::from_key(Key::of(parts))])
    }

    /// One more message, by its bytes.
    pub(crate) fn push<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) {
        let key = Key::of(parts);
        let last = self.0.last().copied().unwrap_or_else(|| Chain::from_key(key));
        self.0.push(last.then(key));
    }

    /// The key of the first `count` messages, or of all of them, if there are fewer.
    pub(crate) fn after(&self, count: usize) -> Chain {
        let at = count.min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or_else(|| Chain::from_key(Key(0)))
    }
}
