//! The vocabularies the tests run on, loaded once.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use verbatim_tokenizer::HfTokenizer;

/// Where `tools/fetch.py` puts what it fetches.
pub(crate) fn asset(name: &str, file: &str) -> PathBuf {
    let cache = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"), PathBuf::from);
    cache.join("assets").join(name).join(file)
}

/// The contents of an asset.
pub(crate) fn read(name: &str, file: &str) -> Vec<u8> {
    std::fs::read(asset(name, file))
        .unwrap_or_else(|e| panic!("{name}/{file}: {e}; run `python3 tools/fetch.py {name}`"))
}

/// Qwen3's vocabulary.
pub(crate) fn qwen3() -> &'static HfTokenizer {
    static ONCE: OnceLock<HfTokenizer> = OnceLock::new();
    ONCE.get_or_init(|| HfTokenizer::from_json(&read("tokenizer-qwen3", "tokenizer.json")).unwrap())
}

/// Qwen2.5's vocabulary.
pub(crate) fn qwen25() -> &'static HfTokenizer {
    static ONCE: OnceLock<HfTokenizer> = OnceLock::new();
    ONCE.get_or_init(|| HfTokenizer::from_json(&read("tokenizer-qwen25", "tokenizer.json")).unwrap())
}
