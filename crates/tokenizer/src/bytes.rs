//! What each id stands for, as bytes.
//!
//! The invariant: concatenating the bytes of the ids of a text gives the text (after the
//! vocabulary's own normalisation), for every split into ids.

use serde_json::Value;
use verbatim_tokens::TokenId;

use crate::{Added, TokenizerError};

/// How a vocabulary spells its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// One printable character a byte (GPT-2 and most since).
    ByteLevel,
    /// Text with U+2581 for a space and `<0xNN>` for single bytes (SentencePiece).
    Metaspace,
}

/// The bytes of all ids, in one allocation.
#[derive(Debug, Default)]
pub(crate) struct ByteTable {
    blob: Vec<u8>,
    /// Where each id's bytes begin and end in `blob`.
    spans: Vec<(u32, u32)>,
}

impl ByteTable {
    /// Builds the table from a whole `tokenizer.json` and its added tokens.
    pub(crate) fn build(root: &Value, added: &[Added]) -> Result<Self, TokenizerError> {
        let spelling = spelling_of(root);
        let mut table = Self::default();
        for (entry, id) in entries(root)? {
            let start = table.blob.len();
            match spelling {
                Spelling::ByteLevel => byte_level(entry, &mut table.blob),
                Spelling::Metaspace => metaspace(entry, &mut table.blob),
            }
            table.close(id, start)?;
        }
        for token in added {
            let start = table.blob.len();
            table.blob.extend_from_slice(token.spelling.as_bytes());
            table.close(token.id.0, start)?;
        }
        Ok(table)
    }

    fn close(&mut self, id: u32, start: usize) -> Result<(), TokenizerError> {
        let broken = |_| TokenizerError::Vocabulary { reason: "more than 4 GiB of spellings".into() };
        let span = (u32::try_from(start).map_err(broken)?, u32::try_from(self.blob.len()).map_err(broken)?);
        let at = id as usize;
        if self.spans.len() <= at {
            self.spans.resize(at + 1, (0, 0));
        }
        self.spans[at] = span;
        Ok(())
    }

    pub(crate) fn get(&self, id: TokenId) -> &[u8] {
        match self.spans.get(id.0 as usize) {
            Some(&(start, end)) => &self.blob[start as usize..end as usize],
            None => &[],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The id of each single byte, where the vocabulary has one.
    pub(crate) fn single_bytes(&self, skip: impl Fn(TokenId) -> bool) -> Vec<Option<TokenId>> {
        let mut found = vec![None; 256];
        for raw in (0..self.spans.len()).filter_map(|at| u32::try_from(at).ok()) {
            if let [byte] = *self.get(TokenId(raw))
                && !skip(TokenId(raw))
            {
                found[byte as usize] = Some(TokenId(raw));
            }
        }
        found
    }
}

/// Whether a vocabulary is spelled as SentencePiece spells it.
pub(crate) fn is_sentencepiece(root: &Value) -> bool {
    spelling_of(root) == Spelling::Metaspace
}

/// Whether any component anywhere in the file is a byte-level one.
fn spelling_of(root: &Value) -> Spelling {
    fn byte_level(value: &Value) -> bool {
        match value {
            Value::Object(map) => {
                map.get("type").and_then(Value::as_str) == Some("ByteLevel") || map.values().any(byte_level)
            }
            Value::Array(list) => list.iter().any(byte_level),
            _ => false,
        }
    }
    let parts = ["decoder", "pre_tokenizer", "normalizer"];
    if parts.iter().filter_map(|part| root.get(part)).any(byte_level) {
        Spelling::ByteLevel
    } else {
        Spelling::Metaspace
    }
}

/// Gives a byte-level vocabulary an entry for each byte that it lacks, with ids from `next` on.
///
/// SmolLM2's lacks eight. The library refuses such a vocabulary; its released version drops the
/// bytes, and so do we, by dropping the ids that stand for nothing.
pub(crate) fn complete(root: &mut Value, next: usize) {
    if spelling_of(root) != Spelling::ByteLevel {
        return;
    }
    if let Some(Value::Object(vocabulary)) = root.get_mut("model").and_then(|model| model.get_mut("vocab")) {
        let characters = ('!'..='\u{143}').filter(|character| byte_of(*character).is_some());
        let lacking: Vec<String> =
            characters.map(String::from).filter(|entry| !vocabulary.contains_key(entry)).collect();
        for (at, entry) in lacking.into_iter().enumerate() {
            vocabulary.insert(entry, Value::from(next + at));
        }
    }
}

/// The entries of the model's vocabulary: a map of ids (BPE) or a list of scores (Unigram).
fn entries(root: &Value) -> Result<Vec<(&str, u32)>, TokenizerError> {
    let broken = |reason: String| TokenizerError::Vocabulary { reason };
    let number = |id: Option<u64>, entry: &str| {
        id.and_then(|id| u32::try_from(id).ok()).ok_or_else(|| broken(format!("{entry:?} has no id")))
    };
    match root.get("model").and_then(|model| model.get("vocab")) {
        Some(Value::Object(map)) => {
            map.iter().map(|(entry, id)| Ok((entry.as_str(), number(id.as_u64(), entry)?))).collect()
        }
        Some(Value::Array(list)) => list
            .iter()
            .enumerate()
            .map(|(at, pair)| {
                let entry = pair.get(0).and_then(Value::as_str);
                let entry = entry.ok_or_else(|| broken(format!("entry {at} has no text")))?;
                Ok((entry, number(Some(at as u64), entry)?))
            })
            .collect(),
        _ => Err(broken("model.vocab is missing".into())),
    }
}

fn byte_level(entry: &str, out: &mut Vec<u8>) {
    for character in entry.chars() {
        match byte_of(character) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// The character that a byte-level vocabulary spells this byte with.
pub(crate) fn character_of(byte: u8) -> char {
    match byte {
        0..=0x20 => char::from_u32(0x100 + u32::from(byte)).unwrap_or_default(),
        0x7f..=0xa0 => char::from_u32(0x121 + u32::from(byte) - 0x7f).unwrap_or_default(),
        0xad => '\u{143}',
        printable => char::from(printable),
    }
}

/// The byte that a byte-level vocabulary spells with this character. Printable Latin-1 stands for
/// itself; the other 68 bytes, in order, are the characters from U+0100 on.
fn byte_of(character: char) -> Option<u8> {
    let code = u32::from(character);
    let byte = match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => code,
        0x100..=0x120 => code - 0x100,
        0x121..=0x142 => code - 0x121 + 0x7f,
        0x143 => 0xad,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

fn metaspace(entry: &str, out: &mut Vec<u8>) {
    let hex = entry.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    if let Some(byte) = hex.filter(|hex| hex.len() == 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
        out.push(byte);
        return;
    }
    out.extend_from_slice(entry.replace('\u{2581}', " ").as_bytes());
}
