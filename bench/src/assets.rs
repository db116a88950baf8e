//! The real Qwen3 vocabulary, and the family over it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use verbatim_families::{Family, load};
use verbatim_tokenizer::{HfTokenizer, Tokenizer};

const FILE: &str = "assets/tokenizer-qwen3/tokenizer.json";

/// Loads the vocabulary from `$VERBATIM_CACHE`, or from the `.cache` of this folder or one above.
///
/// # Errors
/// If it is not there; the message says how to get it.
pub(crate) fn tokenizer() -> anyhow::Result<Arc<dyn Tokenizer>> {
    let own = std::env::var_os("VERBATIM_CACHE").map(PathBuf::from);
    let here = std::env::current_dir()?;
    let above = here.ancestors().map(|folder| folder.join(".cache"));
    let path = own
        .into_iter()
        .chain(above)
        .map(|cache| cache.join(FILE))
        .find(|path| path.is_file())
        .context("the Qwen3 tokenizer is missing: run `python3 tools/fetch.py tokenizer-qwen3`")?;
    let json = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let tokenizer =
        HfTokenizer::from_json(&json).with_context(|| format!("cannot load {}", path.display()))?;
    Ok(Arc::new(tokenizer))
}

/// The qwen3 family over that vocabulary.
///
/// # Errors
/// If the vocabulary is not Qwen3's.
pub(crate) fn family(tokenizer: Arc<dyn Tokenizer>) -> anyhow::Result<Arc<dyn Family>> {
    load("qwen3", tokenizer, None, &serde_json::Map::new()).context("cannot set up family qwen3")
}
