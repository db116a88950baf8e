//! A `tokenizer.json` of Hugging Face's format.
//!
//! The invariant: the library that merges never learns of added tokens, so that no text can make
//! it emit one; they live in a map of ours.

use serde_json::Value;
use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};
use verbatim_tokens::TokenId;

use crate::{
    Added, Tokenizer, TokenizerError,
    added::AddedTokens,
    bytes::{self, ByteTable},
    cut::Cutter,
    tiktoken,
    words::{Stretch, Words},
};

/// A vocabulary loaded from a `tokenizer.json`.
///
/// Vocabularies whose normaliser puts a space before the first word (SentencePiece's dummy prefix)
/// put it before every text they are given: such a family must render in one piece.
pub struct HfTokenizer {
    model: PipelineTokenizer,
    options: EncodeOptions,
    /// Where the library has no scanner for the vocabulary's pattern: ours.
    cutter: Option<Cutter>,
    added: AddedTokens,
    words: Words,
    table: ByteTable,
    /// The way out should the library refuse a text: one id a byte.
    single: Vec<Option<TokenId>>,
}

impl std::fmt::Debug for HfTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HfTokenizer")
            .field("vocabulary", &self.table.len())
            .field("added", &self.added.all().len())
            .finish_non_exhaustive()
    }
}

/// A text that every vocabulary can encode.
const PROBE: &str = "a b";

fn unsupported(reason: impl std::fmt::Display) -> TokenizerError {
    TokenizerError::Unsupported { reason: reason.to_string() }
}

fn read(root: &Value) -> Result<PipelineTokenizer, TokenizerError> {
    tokenizers::from_json(&root.to_string()).map_err(unsupported)
}

impl HfTokenizer {
    /// Loads the contents of a `tokenizer.json`, of any version.
    ///
    /// # Errors
    /// [`TokenizerError`]: no JSON, a component that this build lacks, or a broken vocabulary.
    pub fn from_json(json: &[u8]) -> Result<Self, TokenizerError> {
        let root =
            serde_json::from_slice(json).map_err(|e| TokenizerError::Json { reason: e.to_string() })?;
        Self::from_value(root)
    }

    /// Loads a vocabulary in tiktoken's format, as Kimi's models have it: the contents of
    /// `tiktoken.model` and of `tokenizer_config.json`.
    ///
    /// # Errors
    /// [`TokenizerError`]: a line that is no entry, or added tokens where none can be.
    pub fn from_tiktoken(ranks: &[u8], config: &[u8]) -> Result<Self, TokenizerError> {
        Self::from_value(tiktoken::converted(ranks, config)?)
    }

    fn from_value(mut root: Value) -> Result<Self, TokenizerError> {
        let pieces = bytes::is_sentencepiece(&root);
        let Some(fields) = root.as_object_mut() else {
            return Err(TokenizerError::Json { reason: "not an object".into() });
        };
        let mut added = fields.insert("added_tokens".into(), Value::Array(Vec::new())).unwrap_or_default();
        let vocabulary = fields.get("model").and_then(|model| model.get("vocab"));
        let words = Words::take(&mut added, vocabulary.filter(|_| pieces))?;
        let added = AddedTokens::read(added)?;
        // What would add to the ids or cut them is the family's business.
        for part in ["post_processor", "truncation", "padding"] {
            fields.insert(part.into(), Value::Null);
        }
        let table = ByteTable::build(&root, added.all())?;
        let single = table.single_bytes(|id| added.holds(id));
        bytes::complete(&mut root, table.len());
        tokenizers::canonicalize_value(&mut root).map_err(unsupported)?;
        let options = EncodeOptions {
            add_special_tokens: false,
            encode_special_tokens: true,
            padding: Override::Off,
            truncation: Override::Off,
        };
        let model = read(&root)?;
        // A pattern without a scanner is noticed only when a text comes.
        if model.encode_into(PROBE, &options, &mut Vec::new()).is_ok() {
            return Ok(Self { model, options, cutter: None, added, words, table, single });
        }
        let cutter = Some(Cutter::take(&mut root)?);
        let model = read(&root)?;
        model.encode_into(PROBE, &options, &mut Vec::new()).map_err(unsupported)?;
        Ok(Self { model, options, cutter, added, words, table, single })
    }

    /// Appends the ids of a text that holds no words.
    fn encode_text(&self, text: &str, out: &mut Vec<TokenId>) {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        if !self.merge(text, &mut ids) {
            return self.bytewise(text, out);
        }
        let known = self.table.len();
        let ids = ids.iter().map(|token| TokenId(token.id())).filter(|id| (id.0 as usize) < known);
        match ids.clone().find(|id| self.added.holds(*id)) {
            None => out.extend(ids),
            Some(id) => self.encode_around(text, &String::from_utf8_lossy(self.table.get(id)), out),
        }
    }

    /// Appends what the library makes of a text, added tokens among it.
    fn merge(&self, text: &str, ids: &mut Vec<PipelineToken>) -> bool {
        let Some(cutter) = &self.cutter else {
            return self.model.encode_into(text, &self.options, ids).is_ok();
        };
        let mut whole = true;
        cutter.each(text, |piece| whole &= self.model.encode_into(piece, &self.options, ids).is_ok());
        whole
    }

    fn bytewise(&self, text: &str, out: &mut Vec<TokenId>) {
        out.extend(text.bytes().filter_map(|byte| self.single[byte as usize]));
    }

    /// Encodes a text whose plain encoding holds an added token (it can be an entry of the model's
    /// own vocabulary too), by cutting the spelling after its first character.
    fn encode_around(&self, text: &str, spelling: &str, out: &mut Vec<TokenId>) {
        let cut = spelling.chars().next().map_or(0, char::len_utf8);
        match text.find(spelling) {
            Some(at) if 0 < cut && cut < spelling.len() => {
                self.encode(&text[..at + cut], out);
                self.encode(&text[at + cut..], out);
            }
            _ => self.bytewise(text, out),
        }
    }
}

impl Tokenizer for HfTokenizer {
    fn encode(&self, text: &str, out: &mut Vec<TokenId>) {
        if text.is_empty() {
            return;
        }
        self.words.each(text, |stretch| match stretch {
            Stretch::Word(id) => out.push(id),
            Stretch::Text(text) => self.encode_text(text, out),
        });
    }

    fn bytes(&self, id: TokenId) -> &[u8] {
        self.table.get(id)
    }

    fn special(&self, spelling: &str) -> Option<TokenId> {
        self.added.id(spelling)
    }

    fn is_special(&self, id: TokenId) -> bool {
        self.added.holds(id)
    }

    fn vocabulary(&self) -> usize {
        self.table.len()
    }

    fn added(&self) -> Vec<Added> {
        self.added.all().to_vec()
    }
}
