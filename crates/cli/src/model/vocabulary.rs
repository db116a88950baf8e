//! The vocabulary of a model: a `tokenizer.json`, or a file in tiktoken's format with its configuration.
//!
//! The invariant: a folder has one vocabulary. Of several files in tiktoken's format none is guessed.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use verbatim_tokenizer::HfTokenizer;
use verbatim_tokens::TokenId;

use super::load::Files;

/// A vocabulary's files, read.
pub(super) enum Vocabulary {
    /// The contents of a `tokenizer.json`.
    Json(Vec<u8>),
    /// The contents of a file of ranks, and of `tokenizer_config.json`.
    Tiktoken { ranks: Vec<u8>, config: Vec<u8>, path: PathBuf },
}

/// A special token, as a model's files name it.
pub(super) enum Named {
    /// By its id.
    Id(TokenId),
    /// By its spelling.
    Spelled(String),
}

impl Vocabulary {
    /// The tokenizer over it.
    ///
    /// # Errors
    /// If it cannot be read; names the file where that is one in tiktoken's format.
    pub(super) fn tokenizer(&self) -> anyhow::Result<HfTokenizer> {
        match self {
            Self::Json(json) => Ok(HfTokenizer::from_json(json)?),
            Self::Tiktoken { ranks, config, path } => HfTokenizer::from_tiktoken(ranks, config)
                .with_context(|| format!("cannot read the vocabulary of {}", path.display())),
        }
    }
}

/// The texts of a folder whose vocabulary is in tiktoken's format; nothing where it has a
/// `tokenizer.json`, or is no folder.
///
/// # Errors
/// If the folder has neither, or several files in tiktoken's format, or no configuration.
pub(super) fn tiktoken(folder: &Path) -> anyhow::Result<Option<Files>> {
    if !folder.is_dir() || folder.join("tokenizer.json").exists() {
        return Ok(None);
    }
    let ranks_path = ranks(folder)?;
    let config_path = folder.join("tokenizer_config.json");
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let config = read(&config_path).context(
        "a vocabulary in tiktoken's format has its added tokens in tokenizer_config.json; copy it from the model",
    )?;
    let settings: Value = serde_json::from_slice(&config)
        .with_context(|| format!("cannot read {}: it is no JSON", config_path.display()))?;
    let named = |token: &str| {
        let token = settings.get(token)?;
        let spelled = token.as_str().or_else(|| token.get("content")?.as_str());
        spelled.map(|spelled| Named::Spelled(spelled.to_owned()))
    };
    let own = settings.get("chat_template").and_then(Value::as_str).map(str::to_owned);
    Ok(Some(Files {
        template: std::fs::read_to_string(folder.join("chat_template.jinja")).ok().or(own),
        bos: named("bos_token"),
        eos: named("eos_token"),
        vocabulary: Vocabulary::Tiktoken { ranks: read(&ranks_path)?, config, path: ranks_path },
    }))
}

/// The one file in tiktoken's format.
fn ranks(folder: &Path) -> anyhow::Result<PathBuf> {
    let usual = folder.join("tiktoken.model");
    if usual.exists() {
        return Ok(usual);
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "tiktoken")).collect();
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!(
            "{} has no vocabulary: neither tokenizer.json nor tiktoken.model nor a file *.tiktoken; copy the model's tokenizer files there, or give --model another folder",
            folder.display()
        ),
        [first, second, ..] => bail!(
            "{} and {} are both vocabularies; rename the model's own to tiktoken.model",
            first.display(),
            second.display()
        ),
    }
}
