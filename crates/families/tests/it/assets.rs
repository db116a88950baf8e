//! Vocabularies, templates and families, each loaded once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use verbatim_families::{Family, load};
use verbatim_tokenizer::{HfTokenizer, Tokenizer};

use crate::gguf;

fn read(name: &str, file: &str) -> Vec<u8> {
    let cache = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"), PathBuf::from);
    let path = cache.join("assets").join(name).join(file);
    std::fs::read(path).unwrap_or_else(|e| panic!("{name}/{file}: {e}; run `python3 tools/fetch.py {name}`"))
}

fn tokenizer(json: &[u8]) -> Arc<dyn Tokenizer> {
    Arc::new(HfTokenizer::from_json(json).unwrap())
}

fn official(name: &str) -> String {
    let config: Value = serde_json::from_slice(&read(name, "tokenizer_config.json")).unwrap();
    config["chat_template"].as_str().unwrap().to_owned()
}

/// A family's vocabulary and official template.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) tokenizer: Arc<dyn Tokenizer>,
    pub(crate) template: String,
    pub(crate) family: Arc<dyn Family>,
}

fn model(name: &'static str, tokenizer: Arc<dyn Tokenizer>, template: String) -> Model {
    let family = load(name, Arc::clone(&tokenizer), None, &Map::new()).unwrap();
    Model { name, tokenizer, template, family }
}

pub(crate) static QWEN3: LazyLock<Model> = LazyLock::new(|| {
    let json = read("tokenizer-qwen3", "tokenizer.json");
    model("qwen3", tokenizer(&json), official("tokenizer-qwen3"))
});

pub(crate) static QWEN25: LazyLock<Model> = LazyLock::new(|| {
    let json = read("tokenizer-qwen25", "tokenizer.json");
    model("qwen25", tokenizer(&json), official("tokenizer-qwen25"))
});

pub(crate) static SMOLLM2: LazyLock<Model> = LazyLock::new(|| {
    let (json, template) = gguf::smollm2(&read("smollm2-135m-instruct", "model.gguf"));
    model("smollm2", tokenizer(json.as_bytes()), template)
});

/// Every native family.
pub(crate) fn models() -> [&'static Model; 3] {
    [&QWEN3, &QWEN25, &SMOLLM2]
}

impl Model {
    /// The text of ids.
    pub(crate) fn spell(&self, ids: &[verbatim_tokens::TokenId]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| self.tokenizer.bytes(*id).iter().copied()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
