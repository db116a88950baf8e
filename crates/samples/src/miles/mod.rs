//! What Miles' driver expects of a session beside its tensors.
//!
//! The invariant: nothing here decides what trains; it says what is there in Miles' names. Source: the
//! behaviour of Miles' session server, whose tree counts generations alone, in the order of their commits.

mod lifecycle;
mod seqs;
mod told;

pub use seqs::{Seqs, path_ids, tree};
pub use told::{SERVER_KEYS, annotate, order, session};
