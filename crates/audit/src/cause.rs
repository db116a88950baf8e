//! What a difference comes of.
//!
//! The invariant: a cause is what, taken out of both sides, leaves them the same; the first of them
//! that does is named, and what none of them explains is other words.

use serde_json::Value;
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use crate::{Cause, Kind, Mismatch, Profile};

/// Names causes.
pub(crate) struct Explainer<'c> {
    pub(crate) tokenizer: &'c dyn Tokenizer,
    pub(crate) profile: &'c Profile,
}

impl Explainer<'_> {
    /// Of a segment that differs.
    pub(crate) fn segment(&self, found: &Mismatch, expected: &[TokenId], actual: &[TokenId]) -> Cause {
        match found.kind {
            Kind::Retokenised => Cause::Bpe,
            Kind::SpecialTokenType => {
                let stops = [expected, actual].map(|ids| ids.iter().all(|id| self.profile.stop.contains(id)));
                if stops == [true, true] { Cause::StopToken } else { Cause::Template }
            }
            _ => self.words(&found.expected_text, &found.actual_text),
        }
    }

    /// Of special tokens that stand otherwise.
    pub(crate) fn structure(&self, expected: &[TokenId], actual: &[TokenId]) -> Cause {
        let ended = |ids: &[TokenId]| -> Vec<TokenId> {
            ids.iter().filter(|id| !self.profile.stop.contains(id)).copied().collect()
        };
        if self.tokenizer.text(&ended(expected)) == self.tokenizer.text(&ended(actual)) {
            return Cause::StopToken;
        }
        let cause = self.words(&self.tokenizer.text(expected), &self.tokenizer.text(actual));
        let said = |ids: &[TokenId]| -> Vec<TokenId> {
            ids.iter().filter(|id| !self.profile.special.contains(id)).copied().collect()
        };
        let said = [expected, actual].map(|ids| squeezed(&self.tokenizer.text(&said(ids))));
        // Where the words are the same, it is the marks between them that are not.
        if cause == Cause::HarnessRewrite && said[0] == said[1] { Cause::Template } else { cause }
    }

    fn words(&self, expected: &str, actual: &str) -> Cause {
        let same = |by: &dyn Fn(&str) -> String| by(expected) == by(actual);
        if same(&squeezed) {
            // Spaces inside arguments are bytes of theirs.
            return if same(&|text| arguments(text)) { Cause::ArgumentBytes } else { Cause::Template };
        }
        let thought = |text: &str| squeezed(&self.unthought(text));
        if same(&thought) {
            Cause::StrippedReasoning
        } else if same(&|text| squeezed(&arguments(text))) {
            Cause::ArgumentBytes
        } else if same(&|text| thought(&arguments(text))) {
            Cause::StrippedReasoning
        } else {
            Cause::HarnessRewrite
        }
    }

    /// The text without its blocks of reasoning.
    fn unthought(&self, text: &str) -> String {
        let mut left = text.to_owned();
        for (open, close) in &self.profile.reasoning {
            while let Some(from) = left.find(open) {
                let to = left[from..].find(close).map_or(left.len(), |at| from + at + close.len());
                left.replace_range(from..to, "");
            }
            // The opener may be the prompt's.
            if let Some(at) = left.find(close) {
                left.replace_range(..at + close.len(), "");
            }
        }
        left
    }
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The text with every JSON object in it spelt one way.
fn arguments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, object) = rest.split_at(at);
        out.push_str(before);
        let mut values = serde_json::Deserializer::from_str(object).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                spell(&value, &mut out);
                rest = &object[values.byte_offset()..];
            }
            _ => {
                out.push('{');
                rest = &object[1..];
            }
        }
    }
    out + rest
}

/// Compact, keys sorted.
fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in entries {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                spell(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for value in values {
                spell(value, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
