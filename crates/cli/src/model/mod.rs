//! From a model's name to an engine, a tokenizer and a family.

mod cache;
mod catalogue;
mod family;
mod load;
mod pull;

pub use cache::Cache;
pub use catalogue::CATALOGUE;
pub use load::{Loaded, load, tokenizer};
pub use pull::{Source, pull};
