//! The tokens beside the model's own vocabulary: control tokens and markers.
//!
//! The invariant: a spelling belongs to one id, and the map is the only way from one to the other;
//! the encoder below never sees these tokens.

use std::collections::HashMap;

use serde::Deserialize;
use verbatim_tokens::TokenId;

use crate::TokenizerError;

/// One added token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub id: TokenId,
    /// Its exact spelling.
    pub spelling: String,
    /// Whether it steers (`"special": true`: turn borders, padding). The others are markers that a
    /// model writes as part of what it says, like `<tool_call>` in Qwen's vocabularies.
    pub control: bool,
    /// Whether it swallows the whitespace before it when it is recognised in text.
    pub lstrip: bool,
    /// Whether it swallows the whitespace after it when it is recognised in text.
    pub rstrip: bool,
}

impl Added {
    /// A control token with no further properties.
    pub fn control(id: TokenId, spelling: impl Into<String>) -> Self {
        Self { id, spelling: spelling.into(), control: true, lstrip: false, rstrip: false }
    }
}

/// An entry of `added_tokens`. `single_word` and `normalized` are not looked at: no chat model
/// spells its control tokens inside words or in need of normalisation.
#[derive(Deserialize)]
struct Entry {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

/// All added tokens of a vocabulary.
#[derive(Debug, Default)]
pub(crate) struct AddedTokens {
    sorted: Vec<Added>,
    ids: HashMap<String, TokenId>,
    /// One flag an id, so that the question "is this one?" is a look-up.
    flags: Vec<bool>,
}

impl AddedTokens {
    /// Reads the value of `added_tokens`.
    pub(crate) fn read(entries: serde_json::Value) -> Result<Self, TokenizerError> {
        let entries: Vec<Entry> = match entries {
            serde_json::Value::Null => Vec::new(),
            some => serde_json::from_value(some)
                .map_err(|e| TokenizerError::Json { reason: format!("added_tokens: {e}") })?,
        };
        let mut added = Self::default();
        for Entry { id, content, special, lstrip, rstrip } in entries {
            let at = id as usize;
            if added.flags.len() <= at {
                added.flags.resize(at + 1, false);
            }
            added.flags[at] = true;
            let id = TokenId(id);
            added.ids.insert(content.clone(), id);
            added.sorted.push(Added { id, spelling: content, control: special, lstrip, rstrip });
        }
        added.sorted.sort_by_key(|token| token.id);
        Ok(added)
    }

    pub(crate) fn id(&self, spelling: &str) -> Option<TokenId> {
        self.ids.get(spelling).copied()
    }

    pub(crate) fn holds(&self, id: TokenId) -> bool {
        self.flags.get(id.0 as usize).copied().unwrap_or(false)
    }

    pub(crate) fn all(&self) -> &[Added] {
        &self.sorted
    }
}
