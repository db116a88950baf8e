//! Bytes that arrive in pieces, as text.
//!
//! The invariant: whatever the pieces, the text is that of the whole; characters that are cut wait
//! for their rest, and what can be no character becomes U+FFFD exactly as Python's
//! `errors="replace"` has it (one a maximal broken sequence).

/// An incremental UTF-8 decoder.
#[derive(Clone, Debug, Default)]
pub struct Utf8Stream {
    /// The beginning of a character: at most three bytes.
    held: Vec<u8>,
}

impl Utf8Stream {
    /// Takes more bytes over and appends the text that they settle.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        if self.held.is_empty() {
            self.decode(bytes, out);
        } else {
            let mut whole = std::mem::take(&mut self.held);
            whole.extend_from_slice(bytes);
            self.decode(&whole, out);
        }
    }

    /// Ends the text: a character that never got its rest becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        if !self.held.is_empty() {
            self.held.clear();
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Whether the beginning of a character is waiting.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    fn decode(&mut self, bytes: &[u8], out: &mut String) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            out.push_str(chunk.valid());
            let broken = chunk.invalid();
            if broken.is_empty() {
                continue;
            }
            // Only at the very end can a broken sequence still become whole.
            let open = chunks.peek().is_none()
                && std::str::from_utf8(broken).is_err_and(|error| error.error_len().is_none());
            if open {
                self.held.extend_from_slice(broken);
            } else {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}
