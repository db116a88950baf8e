//! Training rows, and the files that hold them.
//!
//! The invariants this crate keeps: a row's ids are a path of the forest, id for id; a token carries
//! loss only if it lies in a sampled span that this row owns and has the engine's logprob; no
//! sampled span is owned by two rows of a session; a span that no row owns is listed with its cause.
//! The mask is derived from where each token came from, never set.
//!
//! Pure: no I/O, no async, no clock.

mod advantages;
mod assemble;
mod error;
mod format;
mod images;
mod jsonl;
pub mod miles;
mod parquet;
mod pick;
mod row;
mod safetensors;
mod spans;
mod stored;

pub use advantages::{AdvantageError, Advantages};
pub use assemble::{Assembly, Context, EmptyReason, Options, Rewards, Unowned, assemble};
pub use error::RowError;
pub use format::Format;
pub use pick::Pick;
pub use row::{CacheUse, Row, Status, Turn};
pub use safetensors::{Envelope, read_safetensors, write_safetensors};
