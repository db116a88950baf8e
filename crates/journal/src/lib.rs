//! What was committed, kept on disk before it is told.
//!
//! The invariant this crate keeps: once a record is told as kept, it is there after the process was killed (and at
//! [`Level::Disk`] after power was lost), with everything that was appended before it; and what a disk did to the files
//! is never taken for a record.
//!
//! A journal is a folder of segments: files of zeros, of 64 MiB, filled from the front by one at a time, who takes all
//! that waits, writes it at once, waits for the disk once if the level asks for it, and answers. Beside a segment lie its
//! payloads, large bytes that are read where they lie.

mod codec;
mod compact;
mod damage;
mod disk;
mod error;
mod fold;
mod frame;
mod index;
mod journal;
mod level;
mod mapped;
mod payload;
mod pen;
mod queue;
mod record;
mod recover;
mod scan;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use codec::{Opening, SentRecord, Tombstone, TurnRecord};
pub use damage::{Damage, What};
pub use error::JournalError;
pub use frame::Number;
pub use journal::{Appended, Journal, Options, Room};
pub use level::Level;
pub use recover::{Kept, Recovery};
