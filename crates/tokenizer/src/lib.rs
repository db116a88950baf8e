//! Text to token ids and back.
//!
//! The invariant this crate keeps: encoding text never yields a special token. Special tokens are
//! looked up by name and emitted as ids; text that happens to spell one is encoded as text.
//!
//! Pure: no I/O, no async, no clock.

mod added;
mod bytes;
mod cut;
mod error;
mod hf;
mod split;
mod tiktoken;
mod utf8;
mod words;

use verbatim_tokens::TokenId;

pub use added::Added;
pub use error::TokenizerError;
pub use hf::HfTokenizer;
pub use split::{Piece, SpecialSplitter};
pub use utf8::Utf8Stream;

/// A vocabulary with its rules.
pub trait Tokenizer: Send + Sync {
    /// Appends the ids of plain text. Added and special tokens never come out of it, whatever the
    /// text spells.
    fn encode(&self, text: &str, out: &mut Vec<TokenId>);

    /// The bytes that an id stands for: part of a character, several characters, or a special
    /// token's spelling. Empty for ids that no vocabulary entry has.
    fn bytes(&self, id: TokenId) -> &[u8];

    /// What ids spell, special tokens included. Bytes that are no UTF-8 become U+FFFD.
    fn text(&self, ids: &[TokenId]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| self.bytes(*id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The id of an added or special token, by its exact spelling.
    fn special(&self, spelling: &str) -> Option<TokenId>;

    /// Whether an id is an added or special token.
    fn is_special(&self, id: TokenId) -> bool;

    /// One more than the largest id.
    fn vocabulary(&self) -> usize;

    /// Every added or special token, ids ascending.
    ///
    /// A vocabulary that says no more than the methods above has control tokens only.
    fn added(&self) -> Vec<Added> {
        (0..self.vocabulary())
            .filter_map(|raw| u32::try_from(raw).ok().map(TokenId))
            .filter(|id| self.is_special(*id))
            .map(|id| Added::control(id, String::from_utf8_lossy(self.bytes(id))))
            .collect()
    }
}
