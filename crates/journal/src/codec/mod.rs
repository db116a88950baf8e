//! Sessions as entries of lines.
//!
//! The invariant: what comes back is equal to what was written, token by token and bit by bit, or it does not come back.
//! The first entry of a session's line is its [`Opening`], every other one a [`TurnRecord`]; a session that is over is a
//! note, its [`Tombstone`]. MessagePack with names, so
//! that a later version may add a field.

mod ids;
mod opening;
mod tombstone;
mod turn;

pub use opening::Opening;
pub use tombstone::Tombstone;
pub use turn::{SentRecord, TurnRecord};
