//! Audit: what a session kept, compared with what its family renders.
//!
//! The invariant this crate keeps: two runs of ids are compared by rule, never by a guess; a
//! difference is one [`Mismatch`] in Miles' words, and [`Cause`] says what it comes of.
//!
//! ```text
//! let comparator = Comparator::of(family);
//! let expected = canonical(family, scene, &messages)?;
//! let mismatches = comparator.compare(&expected, &actual);   // Miles' kinds, Miles' keys
//! let findings = comparator.explain(&expected, &actual);     // the same and ids that differ under equal text, with causes
//! ```
//!
//! Pure: no I/O, no async, no clock.

mod canonical;
mod cause;
mod comparator;
mod mismatch;
mod profile;
mod segment;

pub use canonical::canonical;
pub use comparator::Comparator;
pub use mismatch::{Cause, Finding, Kind, Mismatch};
pub use profile::Profile;
