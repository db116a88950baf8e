//! What a model file says beside its weights: tokenizer, chat template, end tokens, name.
//!
//! The invariant: a tokenizer is either rebuilt exactly or refused by name; nothing is guessed.

mod folder;
mod gguf;
mod tokenizer;

use std::path::Path;

use verbatim_tokens::TokenId;

use crate::LoadError;
use crate::config::{Config, from_folder, from_gguf};
use crate::weights::{Folder, Gguf, Tensors};

/// What goes with a loaded model.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// A Hugging Face `tokenizer.json`.
    pub tokenizer_json: Vec<u8>,
    /// The chat template, in Jinja, if there is one.
    pub chat_template: Option<String>,
    /// The token that begins a text, if the model has one.
    pub bos: Option<TokenId>,
    /// The tokens that end a turn.
    pub eos: Vec<TokenId>,
    /// The model's name.
    pub name: String,
}

impl Source {
    /// Reads what goes with the model at `path`, without loading it.
    ///
    /// # Errors
    /// [`LoadError`] if there is no tokenizer at the path. The model may be one that this engine does not run.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        if path.is_dir() {
            // Neither weights nor an architecture that runs here are needed to speak for a model.
            let settings = path.join("config.json");
            let text = match std::fs::read_to_string(&settings) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}".to_owned(),
                Err(source) => return Err(LoadError::Read { path: settings, source }),
            };
            return folder::source(path, &text);
        }
        no_gguf(path)?;
        gguf::source(path, Gguf::open(path)?.content())
    }
}

/// Opens a model of either kind.
pub(crate) fn open(path: &Path) -> Result<(Config, Box<dyn Tensors>, Source), LoadError> {
    if path.is_dir() {
        let tensors = Folder::open(path)?;
        let settings = path.join("config.json");
        let text = std::fs::read_to_string(&settings)
            .map_err(|source| LoadError::Read { path: settings.clone(), source })?;
        let config = from_folder(&settings, &text)?;
        return Ok((config, Box::new(tensors), folder::source(path, &text)?));
    }
    no_gguf(path)?;
    let mut tensors = Gguf::open(path)?;
    let factors = tensors.read("rope_freqs.weight")?.map(|tensor| tensor.values);
    let config = from_gguf(tensors.content(), factors.as_deref())?;
    let source = gguf::source(path, tensors.content())?;
    Ok((config, Box::new(tensors), source))
}

/// Refuses a file that is no GGUF file by its name.
fn no_gguf(path: &Path) -> Result<(), LoadError> {
    match path.is_file() && path.extension().is_none_or(|extension| extension != "gguf") {
        true => Err(LoadError::NoModel { path: path.to_owned() }),
        false => Ok(()),
    }
}
