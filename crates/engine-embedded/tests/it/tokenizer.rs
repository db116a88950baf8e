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

#[test]
fn texts_get_the_ids_of_the_models_own_tokenizer() {
    let golden: Vec<(String, Vec<u32>)> = serde_json::from_str(include_str!("golden/smollm2.json")).unwrap();
    for (words, expected) in golden {
        assert_eq!(TokenId::raw(&ids(&words)), expected, "{words:?}");
        assert_eq!(text(TokenId::wrap(&expected)), words);
    }
}

#[test]
fn the_file_tells_template_name_and_ends() {
    let source = Source::read(&crate::model::path()).unwrap();
    assert!(source.chat_template.unwrap().contains("<|im_start|>"));
    assert_eq!(source.eos, [crate::model::END]);
    assert_eq!(source.bos, Some(TokenId(1)));
    assert_eq!(source.name, "Smollm2 135M 8k Lc100K Mix1 Ep2");
}

#[test]
fn a_byte_that_the_vocabulary_cannot_spell_is_no_token_of_the_model() {
    assert!(ids("a\u{4}b").iter().any(|id| id.0 >= 49152));
}
