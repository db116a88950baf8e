//! Append-only token lineages of one session.
//!
//! The invariants this crate keeps: along any path from a root, the ids are exactly what the engine
//! read and sampled; a node stores only what it adds to its parent; nothing that was applied ever
//! changes, so a request that fails leaves no trace.
//!
//! Observations and generations alternate and are committed together: a turn is one generation and,
//! unless it is sampled again from an observation that is already there, one observation.
//!
//! Pure: no I/O, no async, no clock.

mod apply;
mod error;
mod find;
mod forest;
mod ids;
mod lineage;
mod node;
mod path;

pub use apply::Applied;
pub use error::{Conflict, Refusal};
pub use find::{Candidate, Choice, choose};
pub use forest::Forest;
pub use lineage::{Lineage, Place, Plan};
pub use node::{Body, Generation, Node, Observation};
pub use path::Segment;
