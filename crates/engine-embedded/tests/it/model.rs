//! The real model, loaded once a process.

use std::path::PathBuf;
use std::sync::OnceLock;

use verbatim_engine::{Prompt, SessionKey};
use verbatim_engine_embedded::{EmbeddedEngine, Options, Source};
use verbatim_tokens::TokenId;

/// The model's file; a test without it fails and says how to get it.
pub(crate) fn path() -> PathBuf {
    let file = "assets/smollm2-135m-instruct/model.gguf";
    let own = std::env::var_os("VERBATIM_CACHE").map(PathBuf::from);
    let above = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let above = above.ancestors().map(|folder| folder.join(".cache"));
    let found = own.into_iter().chain(above).map(|cache| cache.join(file)).find(|path| path.is_file());
    found.expect("SmolLM2 is missing: run `python3 tools/fetch.py smollm2-135m-instruct`")
}

/// A loaded engine.
pub(crate) fn load(options: Options) -> (EmbeddedEngine, Source) {
    EmbeddedEngine::load(&path(), options).unwrap()
}

/// The engine that tests share.
pub(crate) fn engine() -> &'static EmbeddedEngine {
    static ENGINE: OnceLock<EmbeddedEngine> = OnceLock::new();
    ENGINE.get_or_init(|| load(Options::default()).0)
}

/// `<|im_end|>`.
pub(crate) const END: TokenId = TokenId(2);

/// The chat prompt for one question, as ids.
pub(crate) fn ask(question: &str) -> Vec<TokenId> {
    crate::tokenizer::ids(&format!(
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
         <|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    ))
}

/// A prompt of a session.
pub(crate) fn prompt(session: &str, ids: impl Into<Vec<TokenId>>) -> Prompt {
    Prompt::new(ids.into(), SessionKey(session.into()))
}
