//! From a model's name to an engine, a tokenizer and a family.

mod cache;
mod catalogue;
mod family;
mod load;
mod pull;
mod script;
mod servers;
mod vocabulary;

pub(crate) use cache::Cache;
pub(crate) use catalogue::CATALOGUE;
pub(crate) use load::{Loaded, family_alone, load, tokenizer};
pub(crate) use pull::{Source, pull};
pub(crate) use servers::{kind, options, question};
