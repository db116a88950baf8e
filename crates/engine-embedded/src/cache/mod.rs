//! Keys and values, of running sequences and of those that are over.
//!
//! The invariant: a block that more than one holder can reach is never written; whoever writes into
//! it gets a copy first. So a prefix is shared by counting references.

mod prefixes;
mod sequence;

pub(crate) use prefixes::Prefixes;
pub(crate) use sequence::{BLOCK, Layout, Sequence};
