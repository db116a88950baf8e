//! Added tokens that are words: what SentencePiece calls user-defined symbols.
//!
//! The invariant: a word is plain text, which people and tools may write, and is found in a text before
//! anything is merged. Only what cannot steer a model is one: whitespace, and the tags of HTML.

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;
use verbatim_tokens::TokenId;

use crate::TokenizerError;

/// The elements of HTML that Gemma's vocabulary has tags of.
const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "bbox",
    "blockquote",
    "body",
    "caption",
    "code",
    "div",
    "em",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "html",
    "i",
    "iframe",
    "img",
    "li",
    "s",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// The words of a vocabulary.
#[derive(Debug, Default)]
pub(crate) struct Words {
    found: Option<AhoCorasick>,
    ids: Vec<TokenId>,
}

/// A stretch of a text.
pub(crate) enum Stretch<'t> {
    /// A word.
    Word(TokenId),
    /// What is to be merged.
    Text(&'t str),
}

impl Words {
    /// Takes the words out of a list of `added_tokens`.
    ///
    /// # Errors
    /// [`TokenizerError`] if there are more than can be searched for.
    pub(crate) fn take(added: &mut Value, vocabulary: Option<&Value>) -> Result<Self, TokenizerError> {
        let (Some(entries), Some(vocabulary)) = (added.as_array_mut(), vocabulary) else {
            return Ok(Self::default());
        };
        let (mut spellings, mut ids) = (Vec::new(), Vec::new());
        entries.retain(|entry| {
            let spelling = entry["content"].as_str().unwrap_or_default();
            let id = entry["id"].as_u64();
            let known = id.is_some() && vocabulary.get(spelling).and_then(Value::as_u64) == id;
            let word = known && entry["special"] == false && is_word(spelling);
            if let Some(id) = id.and_then(|id| u32::try_from(id).ok()).filter(|_| word) {
                spellings.push(spelling.to_owned());
                ids.push(TokenId(id));
            }
            !word
        });
        if spellings.is_empty() {
            return Ok(Self::default());
        }
        let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&spellings);
        let found = found.map_err(|e| TokenizerError::Vocabulary { reason: e.to_string() })?;
        Ok(Self { found: Some(found), ids })
    }

    /// The stretches of a text, in order.
    pub(crate) fn each<'t>(&self, text: &'t str, mut take: impl FnMut(Stretch<'t>)) {
        let Some(words) = &self.found else { return take(Stretch::Text(text)) };
        let mut done = 0;
        for found in words.find_iter(text) {
            if done < found.start() {
                take(Stretch::Text(&text[done..found.start()]));
            }
            take(Stretch::Word(self.ids[found.pattern().as_usize()]));
            done = found.end();
        }
        if done < text.len() {
            take(Stretch::Text(&text[done..]));
        }
    }
}

fn is_word(spelling: &str) -> bool {
    let blank = spelling.chars().all(|c| c == '\u{2581}' || c.is_whitespace());
    let tag = spelling.strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
    let element = tag.map(|tag| tag.strip_prefix('/').unwrap_or(tag));
    !spelling.is_empty() && (blank || element.is_some_and(|element| ELEMENTS.contains(&element)))
}
