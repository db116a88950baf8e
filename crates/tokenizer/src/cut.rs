//! Texts cut by a pattern for which the library has no scanner of its own.
//!
//! The invariant: what is encoded piece by piece is what the library would encode in one, had it a
//! scanner for the pattern; a text is composed first (NFC), where the vocabulary composes texts.

use std::borrow::Cow;

use fancy_regex::Regex;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::TokenizerError;

/// The way to cut.
#[derive(Debug)]
pub(crate) struct Cutter {
    pattern: Regex,
    composes: bool,
}

impl Cutter {
    /// Takes the pattern out of a `tokenizer.json`, so that the rest gets pieces.
    ///
    /// # Errors
    /// [`TokenizerError`]: no such pattern, or one among other things that must come before or after it.
    pub(crate) fn take(root: &mut Value) -> Result<Self, TokenizerError> {
        let unsupported = |what: String| TokenizerError::Unsupported { reason: what };
        let composes = match root.pointer("/normalizer/type").and_then(Value::as_str) {
            None => false,
            Some("NFC") => true,
            Some(other) => return Err(unsupported(format!("normalizer {other} before an unknown pattern"))),
        };
        let steps = root.pointer_mut("/pre_tokenizer/pretokenizers").and_then(Value::as_array_mut);
        let step = steps.filter(|steps| !steps.is_empty()).map(|steps| steps.remove(0)).unwrap_or_default();
        let plain = step["behavior"] == "Isolated" && step["invert"] == false;
        let Some(pattern) = step["pattern"]["Regex"].as_str().filter(|_| plain) else {
            return Err(unsupported("a pre-tokenizer that does not begin with a pattern".to_owned()));
        };
        let pattern = Regex::new(pattern).map_err(|e| unsupported(format!("pattern {pattern:?}: {e}")))?;
        Ok(Self { pattern, composes })
    }

    /// The pieces of a text, in order.
    pub(crate) fn each(&self, text: &str, mut take: impl FnMut(&str)) {
        let composed = if self.composes { Cow::Owned(text.nfc().collect()) } else { Cow::Borrowed(text) };
        let text: &str = &composed;
        let mut done = 0;
        // Where the search gives up, the rest is one piece.
        for found in self.pattern.find_iter(text).map_while(Result::ok) {
            [&text[done..found.start()], found.as_str()]
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .for_each(&mut take);
            done = found.end();
        }
        if done < text.len() {
            take(&text[done..]);
        }
    }
}
