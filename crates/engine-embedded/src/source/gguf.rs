//! The texts of a GGUF file.

use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use verbatim_tokens::TokenId;

use super::Source;
use super::tokenizer::tokenizer_json_of_gguf;
use crate::LoadError;

pub(super) fn source(path: &Path, content: &Content) -> Result<Source, LoadError> {
    let text = |key: &str| content.metadata.get(key).and_then(|value| value.to_string().ok()).cloned();
    let id = |key: &str| {
        let value = content.metadata.get(&format!("tokenizer.ggml.{key}"))?;
        value.to_u64().ok().map(|id| TokenId(id as u32))
    };
    let tokenizer = tokenizer_json_of_gguf(content)?;
    let file = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let mut eos: Vec<_> = ["eos_token_id", "eot_token_id"].into_iter().filter_map(id).collect();
    eos.dedup();
    Ok(Source {
        tokenizer_json: tokenizer.to_string().into_bytes(),
        chat_template: text("tokenizer.chat_template"),
        bos: id("bos_token_id"),
        eos,
        name: text("general.name").or(file).unwrap_or_else(|| "model".to_owned()),
    })
}
