//! The texts of a Hugging Face folder.

use std::path::Path;

use serde::Deserialize;
use verbatim_tokens::TokenId;

use super::Source;
use crate::LoadError;

/// Token ids in `config.json` and `generation_config.json`.
#[derive(Default, Deserialize)]
struct Ends {
    bos_token_id: Option<u32>,
    eos_token_id: Option<OneOrMany<u32>>,
}

#[derive(Default, Deserialize)]
struct TokenizerConfig {
    chat_template: Option<Template>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Template {
    One(String),
    Named(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

/// Reads what lies beside the weights; `settings` is the text of `config.json`.
pub(super) fn source(folder: &Path, settings: &str) -> Result<Source, LoadError> {
    let tokenizer = folder.join("tokenizer.json");
    let tokenizer_json =
        std::fs::read(&tokenizer).map_err(|source| LoadError::Read { path: tokenizer, source })?;
    let model: Ends = parse(&folder.join("config.json"), settings)?;
    let generation: Ends = optional(folder, "generation_config.json")?;
    let eos = match generation.eos_token_id.or(model.eos_token_id) {
        Some(OneOrMany::One(id)) => vec![TokenId(id)],
        Some(OneOrMany::Many(ids)) => TokenId::from_raw(ids),
        None => Vec::new(),
    };
    let config: TokenizerConfig = optional(folder, "tokenizer_config.json")?;
    let own = match config.chat_template {
        Some(Template::One(template)) => Some(template),
        Some(Template::Named(templates)) => {
            templates.into_iter().find(|named| named.name == "default").map(|named| named.template)
        }
        None => None,
    };
    let chat_template = std::fs::read_to_string(folder.join("chat_template.jinja")).ok().or(own);
    Ok(Source {
        tokenizer_json,
        chat_template,
        bos: generation.bos_token_id.or(model.bos_token_id).map(TokenId),
        eos,
        name: folder
            .file_name()
            .map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned()),
    })
}

fn optional<T: Default + for<'de> Deserialize<'de>>(folder: &Path, name: &str) -> Result<T, LoadError> {
    let path = folder.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(LoadError::Read { path, source }),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, LoadError> {
    serde_json::from_str(text).map_err(|source| LoadError::Json { path: path.to_owned(), source })
}
