//! One token of a model's vocabulary.

use bytemuck::{Pod, TransparentWrapper, Zeroable};
use serde::{Deserialize, Serialize};

/// The number that a tokenizer and an engine agree on for one token.
///
/// Four bytes, no niche: slices of it convert to and from `&[u32]` without a copy.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Pod,
    Zeroable,
    TransparentWrapper,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct TokenId(pub u32);

impl TokenId {
    /// Views raw numbers as ids.
    pub fn wrap(raw: &[u32]) -> &[Self] {
        Self::wrap_slice(raw)
    }

    /// Views ids as raw numbers.
    pub fn raw(ids: &[Self]) -> &[u32] {
        Self::peel_slice(ids)
    }

    /// Takes raw numbers as ids, without copying them.
    pub fn from_raw(raw: Vec<u32>) -> Vec<Self> {
        bytemuck::cast_vec(raw)
    }
}

impl std::fmt::Display for TokenId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_keep_every_number() {
        let raw = vec![0, 7, u32::MAX];
        assert_eq!(TokenId::raw(TokenId::wrap(&raw)), &raw[..]);
        assert_eq!(TokenId::raw(&TokenId::from_raw(raw.clone())), &raw[..]);
    }
}
