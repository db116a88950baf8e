//! Token ids, sampled spans and masks.
//!
//! The invariant this crate keeps: a [`Sampled`] span always holds as many logprobs and versions
//! as it holds ids, and it can be made only where a reply of an engine was validated (or where the
//! journal replays one that was). Whatever trains, trains because it is a [`Sampled`].
//!
//! Pure: no I/O, no async, no clock.

mod id;
mod logprob;
mod mask;
mod replay;
mod runs;
mod sampled;
mod speculation;
mod version;

pub use id::TokenId;
pub use logprob::{LogprobKind, Logprobs};
pub use mask::MaskCause;
pub use replay::{Replay, ReplayError, Width};
pub use runs::Runs;
pub use sampled::{LengthMismatch, Sampled};
pub use speculation::Speculation;
pub use version::Version;
