//! Why a model cannot be loaded. Every message says what was found and what would do.

use std::path::PathBuf;

/// A model that cannot be served from this path.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path is neither kind of model.
    #[error(
        "{} is no model: expected a GGUF file or a folder with config.json and model.safetensors \
         (or model.safetensors.index.json)",
        path.display()
    )]
    NoModel {
        /// What was given.
        path: PathBuf,
    },
    /// An architecture that this engine does not run.
    #[error("architecture {found:?} is not supported; supported are llama, qwen2 and qwen3")]
    Architecture {
        /// What the file names.
        found: String,
    },
    /// A variant of a supported architecture that this engine does not run.
    #[error("{what} is {found}, supported is {supported}")]
    Variant {
        /// Which setting.
        what: &'static str,
        /// Its value here.
        found: String,
        /// What would do.
        supported: &'static str,
    },
    /// A setting is missing or has the wrong type.
    #[error("setting {key} is missing or no {expected}")]
    Setting {
        /// Its name in the file.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A tensor is missing.
    #[error("tensor {name} is missing")]
    NoTensor {
        /// Its name in the file.
        name: String,
    },
    /// A tensor does not fit the settings.
    #[error("tensor {name} has shape {found:?}, the settings ask for {expected:?}")]
    Shape {
        /// Its name in the file.
        name: String,
        /// Its dimensions.
        found: Vec<usize>,
        /// What the settings ask for.
        expected: Vec<usize>,
    },
    /// A tensor of a number type that is not read.
    #[error("tensor {name} is of type {found}; read are f32, f16 and bf16")]
    Type {
        /// Its name in the file.
        name: String,
        /// Its type.
        found: String,
    },
    /// A GGUF tokenizer that cannot be turned into a `tokenizer.json` without guessing.
    #[error("tokenizer.ggml.{key} is {found:?}; supported: {supported}")]
    Tokenizer {
        /// `model` or `pre`.
        key: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        supported: &'static str,
    },
    /// A JSON file, or the header of a safetensors file, is malformed.
    #[error("{} is malformed", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A GGUF file is malformed.
    #[error("{} is no readable GGUF", path.display())]
    Gguf {
        /// Which file.
        path: PathBuf,
        /// What the reader said.
        source: candle_core::Error,
    },
    /// The engine's threads cannot be started.
    #[error("cannot start the engine's threads: {reason}")]
    Threads {
        /// What was said.
        reason: String,
    },
}
