//! Keeping text text, through a template.
//!
//! The invariant: what a guarded text spelled is no special token in the rendered prompt, and
//! after [`Guard::lift`] every character is the writer's own.

use std::borrow::Cow;

use verbatim_tokenizer::{SpecialSplitter, Tokenizer};

/// A character of private use that is put after the first character of a spelled-out token. Where
/// a text holds the character itself, it is doubled.
pub(super) const GUARD: char = '\u{10f7a3}';

/// Hides spelled-out tokens from the splitter.
pub(super) struct Guard {
    all: SpecialSplitter,
    control: SpecialSplitter,
}

impl Guard {
    pub(super) fn new(tokenizer: &dyn Tokenizer) -> Self {
        // Some vocabularies have runs of spaces as added tokens; those are no danger.
        let dangerous = |spelling: &str| !spelling.trim().is_empty() && spelling.chars().nth(1).is_some();
        Self {
            all: SpecialSplitter::new(tokenizer, |added| dangerous(&added.spelling)),
            control: SpecialSplitter::new(tokenizer, |added| added.control && dangerous(&added.spelling)),
        }
    }

    /// Hides every token that is spelled out; for what people and tools write.
    pub(super) fn all(&self, text: &str) -> String {
        hide(&self.all, text)
    }

    /// Hides control tokens only; for what models write, whose markers are theirs.
    pub(super) fn control(&self, text: &str) -> String {
        hide(&self.control, text)
    }

    /// Takes the guards away.
    pub(super) fn lift<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(GUARD) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character != GUARD || characters.next_if_eq(&GUARD).is_some() {
                out.push(character);
            }
        }
        Cow::Owned(out)
    }
}

fn hide(splitter: &SpecialSplitter, text: &str) -> String {
    let mut text = text.replace(GUARD, &[GUARD, GUARD].iter().collect::<String>());
    // Spellings can overlap: hiding one can leave another, but never make one.
    loop {
        let spelled = splitter.spelled(&text);
        if spelled.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len() + spelled.len() * GUARD.len_utf8());
        let mut done = 0;
        for (range, _) in spelled {
            let first = text[range.clone()].chars().next().map_or(0, char::len_utf8);
            out.push_str(&text[done..range.start + first]);
            out.push(GUARD);
            done = range.start + first;
        }
        out.push_str(&text[done..]);
        text = out;
    }
}
