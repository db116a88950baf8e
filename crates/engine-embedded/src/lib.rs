//! A language model on the CPU, in process.
//!
//! The invariant this crate keeps: what a token's row of numbers becomes depends on the tokens
//! before it and on nothing else. Every kernel adds in an order that knows neither the batch, nor
//! the chunk of a long prompt, nor where the prefix came from; so a sequence that is scored in one
//! pass gets the logprobs that sampling it gave, and a seed gives the same ids in any company.
//!
//! ```no_run
//! # fn main() -> Result<(), verbatim_engine_embedded::LoadError> {
//! use verbatim_engine_embedded::{EmbeddedEngine, Options};
//! let (engine, source) = EmbeddedEngine::load("model.gguf".as_ref(), Options::default())?;
//! println!("{} with {} bytes of tokenizer", source.name, source.tokenizer_json.len());
//! # drop(engine); Ok(()) }
//! ```
//!
//! Candle reads the containers and dequantises; the arithmetic is this crate's own, since rows must
//! not change with the batch: candle's product of one row with f32 weights sums in another order than
//! that of several (they differ by 7e-5 on rows of 576), and its quantised products round activations.
//!
//! From outside in: [`EmbeddedEngine`] hands work to one `worker`, which batches all sequences
//! into one `model` pass a step; the model is `kernel`s over packed `weights` and a prefix `cache`
//! of shared blocks. `config` and `source` read what a file says of itself.

mod cache;
mod config;
mod desk;
mod engine;
mod error;
mod kernel;
mod model;
mod options;
mod replace;
mod source;
mod stats;
mod weights;
mod worker;

pub use engine::EmbeddedEngine;
pub use error::LoadError;
pub use options::{Options, Precision};
pub use source::Source;
pub use stats::Stats;
