//! What Miles' users ask of a session server beyond turns: its dump, and how far a session has drifted.
//!
//! Source: the behaviour of Miles' session server, whose fields and order these keep.

mod dump;
mod meta_info;
mod mismatch;

pub(crate) use dump::dump;
pub(crate) use meta_info::MetaInfo;
pub(crate) use mismatch::{Kept, mismatches};
