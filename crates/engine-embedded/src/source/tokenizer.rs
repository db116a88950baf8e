//! A Hugging Face `tokenizer.json` out of a GGUF file's metadata.
//!
//! The invariant: a text gets the ids that the model's own tokenizer gives it. GGUF names the
//! splitting of a text by a word, `tokenizer.ggml.pre`; a word that is not known here is refused,
//! since a wrong splitting would still encode, only to other ids.
//!
//! Some vocabularies cannot spell every byte (SmolLM2's lacks eight rare ones), and the model's own
//! tokenizer silently drops such a byte. Here it gets an id above the vocabulary, which the engine
//! refuses: a prompt that the model cannot read fails instead of changing.

use candle_core::quantized::gguf_file::{Content, Value};
use serde_json::{Map, Value as Json, json};

use crate::LoadError;

const LLAMA_SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN_SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// GGUF's types of tokens that are matched in the text before it is split.
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// Builds the `tokenizer.json` of a byte-level BPE model.
///
/// # Errors
/// [`LoadError::Tokenizer`] for a kind of tokenizer or a splitting that is not supported,
/// [`LoadError::Setting`] if vocabulary or merges are missing.
pub(super) fn tokenizer_json_of_gguf(content: &Content) -> Result<Json, LoadError> {
    let model = text(content, "model").unwrap_or_default();
    if model != "gpt2" {
        return Err(LoadError::Tokenizer { key: "model", found: model, supported: "gpt2" });
    }
    let pre = text(content, "pre").unwrap_or_else(|| "default".to_owned());
    let splitting = Splitting::named(&pre)?;

    let tokens = list(content, "tokens")?;
    let types = list(content, "token_type")?;
    let (mut vocab, mut added) = (Map::with_capacity(tokens.len()), Vec::new());
    for (id, token) in tokens.iter().enumerate() {
        let token = token.to_string().map_err(|_| missing("tokens"))?;
        let kind = types.get(id).and_then(|kind| kind.to_i32().ok()).ok_or_else(|| missing("token_type"))?;
        if matches!(kind, CONTROL | USER_DEFINED) {
            added.push(json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": kind == CONTROL,
            }));
        }
        vocab.insert(token.clone(), json!(id));
    }
    let spare =
        bytes_in_text().map(|byte| spelled(byte).to_string()).filter(|spelled| !vocab.contains_key(spelled));
    let spare: Vec<_> = spare.collect();
    for (id, spelled) in (tokens.len()..).zip(spare) {
        vocab.insert(spelled, json!(id));
    }
    let merges = list(content, "merges")?.iter().map(|merge| {
        // The first blank after the first byte: no token holds a plain blank.
        let merge = merge.to_string().map_err(|_| missing("merges"))?;
        merge.split_once(' ').map(|(left, right)| json!([left, right])).ok_or_else(|| missing("merges"))
    });
    let merges = merges.collect::<Result<Vec<_>, _>>()?;
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": splitting.normalizer,
        "pre_tokenizer": splitting.pre_tokenizer,
        "post_processor": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false },
        "decoder": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false },
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "ignore_merges": splitting.ignore_merges,
            "vocab": vocab,
            "merges": merges,
        },
    }))
}

/// Every byte that can occur in UTF-8.
fn bytes_in_text() -> impl Iterator<Item = u8> {
    (0x00..=0xbf).chain(0xc2..=0xf4)
}

/// The character that byte-level vocabularies write a byte as: printable ones as themselves, the
/// others counted from U+0100.
fn spelled(byte: u8) -> char {
    let printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if printable(&byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !printable(byte)).count() as u32;
    char::from_u32(0x100 + before).unwrap_or(char::REPLACEMENT_CHARACTER)
}

struct Splitting {
    normalizer: Json,
    pre_tokenizer: Json,
    ignore_merges: bool,
}

impl Splitting {
    fn named(pre: &str) -> Result<Self, LoadError> {
        let (normalizer, pre_tokenizer, ignore_merges) = match pre {
            "smollm" => {
                (Json::Null, sequence(&json!({ "type": "Digits", "individual_digits": true }), true), false)
            }
            "qwen2" => (json!({ "type": "NFC" }), sequence(&split(QWEN_SPLIT), false), false),
            "llama-bpe" => (Json::Null, sequence(&split(LLAMA_SPLIT), false), true),
            "default" | "gpt-2" => (Json::Null, byte_level(true), false),
            _ => {
                return Err(LoadError::Tokenizer {
                    key: "pre",
                    found: pre.to_owned(),
                    supported: "smollm, qwen2, llama-bpe, gpt-2 and default",
                });
            }
        };
        Ok(Self { normalizer, pre_tokenizer, ignore_merges })
    }
}

fn byte_level(use_regex: bool) -> Json {
    json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex })
}

fn sequence(first: &Json, use_regex: bool) -> Json {
    json!({ "type": "Sequence", "pretokenizers": [first, byte_level(use_regex)] })
}

fn split(regex: &str) -> Json {
    json!({ "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false })
}

fn text(content: &Content, key: &str) -> Option<String> {
    content.metadata.get(&format!("tokenizer.ggml.{key}")).and_then(|value| value.to_string().ok()).cloned()
}

fn list<'a>(content: &'a Content, key: &'static str) -> Result<&'a [Value], LoadError> {
    let value = content.metadata.get(&format!("tokenizer.ggml.{key}"));
    value.and_then(|value| value.to_vec().ok()).map(Vec::as_slice).ok_or_else(|| missing(key))
}

fn missing(key: &'static str) -> LoadError {
    LoadError::Setting { key: format!("tokenizer.ggml.{key}"), expected: "list with one entry a token" }
}
