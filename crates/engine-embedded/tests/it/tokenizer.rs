//! The tokenizer that is rebuilt from the GGUF file.

use std::io::Write;
use std::sync::OnceLock;

use tokenizers::pipeline::{EncodeOptions, PipelineTokenizer};
use verbatim_engine_embedded::Source;
use verbatim_tokens::TokenId;

fn tokenizer() -> &'static PipelineTokenizer {
    static TOKENIZER: OnceLock<PipelineTokenizer> = OnceLock::new();
    TOKENIZER.get_or_init(|| {
        let source = Source::read(&crate::model::path()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&source.tokenizer_json).unwrap();
        tokenizers::from_json(&tokenizers::canonicalize_file(file.path()).unwrap()).unwrap()
    })
}

/// The ids of a text; special tokens in it are special.
pub(crate) fn ids(text: &str) -> Vec<TokenId> {
    let mut tokens = Vec::new();
    let options =
        EncodeOptions { add_special_tokens: false, encode_special_tokens: false, ..EncodeOptions::default() };
    tokenizer().encode_into(text, &options, &mut tokens).unwrap();
    tokens.into_iter().map(|token| TokenId(token.id())).collect()
}

/// The text of ids.
pub(crate) fn text(ids: &[TokenId]) -> String {
    tokenizer().decode(TokenId::raw(ids), false).unwrap()
}
