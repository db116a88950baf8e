//! Text to token ids and back.
//!
//! The invariant this crate keeps: encoding text never yields a special token. Special tokens are
//! looked up by name and emitted as ids; text that happens to spell one is encoded as text.
//!
//! Pure: no I/O, no async, no clock.

use verbatim_tokens::TokenId;

/// A vocabulary with its rules.
pub trait Tokenizer: Send + Sync {
    /// Appends the ids of plain text. Added and special tokens never come out of it, whatever the
    /// text spells.
    fn encode(&self, text: &str, out: &mut Vec<TokenId>);

    /// The bytes that an id stands for: part of a character, several characters, or a special
    /// token's spelling. Empty for ids that no vocabulary entry has.
    fn bytes(&self, id: TokenId) -> &[u8];

    /// The id of an added or special token, by its exact spelling.
    fn special(&self, spelling: &str) -> Option<TokenId>;

    /// Whether an id is an added or special token.
    fn is_special(&self, id: TokenId) -> bool;

    /// One more than the largest id.
    fn vocabulary(&self) -> usize;
}
