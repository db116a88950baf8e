//! The opaque value that reasoning travels with: a signature to Anthropic's clients, encrypted content to OpenAI's.
//!
//! The invariant: a seal belongs to one text. Reasoning that comes back with a seal of ours is the text that it was
//! made for, or it is refused; where the text was left out, the seal says which reply held it.
//!
//! It is no secret and no proof: whoever knows the text can make one. It tells a mistake, not an enemy.

use verbatim_chat::Key;

const MARK: &str = "vb1";

/// A seal that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal<'a> {
    /// The digits of the reply that held the reasoning.
    pub(crate) digits: &'a str,
    /// Which block of the reply's reasoning it seals.
    pub(crate) block: usize,
    hash: &'a str,
}

/// The seal of block `block` of a reply's reasoning.
pub(crate) fn seal(digits: &str, block: usize, text: &str) -> String {
    format!("{MARK}.{digits}.{block}.{}", hash(text))
}

fn hash(text: &str) -> String {
    format!("{:032x}", Key::of([text.as_bytes()]).0)
}

impl<'a> Seal<'a> {
    /// Reads a seal; `None` if it is none of ours.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut fields = text.split('.');
        let (MARK, digits, block, hash, None) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next())
        else {
            return None;
        };
        Some(Self { digits, block: block.parse().ok()?, hash })
    }

    /// Whether it was made for this text.
    pub(crate) fn is_of(&self, text: &str) -> bool {
        self.hash == hash(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_of_its_text_alone() {
        let made = seal("00ff", 2, "I think.\n");
        let read = Seal::read(&made).unwrap();
        assert_eq!((read.digits, read.block), ("00ff", 2));
        assert!(read.is_of("I think.\n") && !read.is_of("I think."));
        for foreign in ["", "SIG==", "ENC", "vb1", "vb1.a.b.c", "vb1.a.0.c.d", "vb2.a.0.c"] {
            assert_eq!(Seal::read(foreign), None, "{foreign}");
        }
    }
}
