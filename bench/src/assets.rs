//! The real vocabularies of Qwen, and the family over Qwen3's.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use verbatim_families::{Family, load};
use verbatim_tokenizer::{HfTokenizer, Tokenizer};

/// Reads a file of an asset from `$VERBATIM_CACHE`, or from the `.cache` of this folder or one above.
///
/// # Errors
/// If it is not there; the message says how to get it.
pub(crate) fn read(asset: &str, file: &str) -> anyhow::Result<Vec<u8>> {
    let own = std::env::var_os("VERBATIM_CACHE").map(PathBuf::from);
    let here = std::env::current_dir()?;
    let above = here.ancestors().map(|folder| folder.join(".cache"));
    let paths = own.into_iter().chain(above).map(|cache| cache.join("assets").join(asset).join(file));
    let path = paths.into_iter().find(|path| path.is_file());
    let path =
        path.with_context(|| format!("{asset}/{file} is missing: run `python3 tools/fetch.py {asset}`"))?;
    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The real Qwen3 vocabulary.
///
/// # Errors
/// As [`read`].
pub(crate) fn tokenizer() -> anyhow::Result<Arc<dyn Tokenizer>> {
    let json = read("tokenizer-qwen3", "tokenizer.json")?;
    Ok(Arc::new(HfTokenizer::from_json(&json).context("cannot load Qwen3's tokenizer")?))
}

/// The qwen3 family over that vocabulary.
///
/// # Errors
/// If the vocabulary is not Qwen3's.
pub(crate) fn family(tokenizer: Arc<dyn Tokenizer>) -> anyhow::Result<Arc<dyn Family>> {
    load("qwen3", tokenizer, None, &serde_json::Map::new()).context("cannot set up family qwen3")
}
