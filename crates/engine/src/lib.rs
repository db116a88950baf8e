//! What every engine must do: take token ids, give token ids back with their logprobs.
//!
//! The invariant this crate keeps: what engines reply becomes a [`verbatim_tokens::Sampled`] only
//! through [`Attempts`], which refuses increments whose lengths differ. Nothing here re-encodes,
//! guesses or repairs.

mod attempts;
mod capabilities;
mod control;
mod error;
mod fleet;
mod form;
mod forward;
mod increment;
mod params;
mod probe;
mod prompt;

pub use attempts::{Attempts, Facts};
pub use capabilities::Capabilities;
pub use control::{Answer, Control, Health, Load, Order, PauseMode, Score, give};
pub use error::{EngineError, Remedy};
pub use fleet::{Fleet, FleetError, MemberState};
pub use form::{Form, Forms, Wrapped};
pub use forward::{Forward, Passed, Told};
pub use increment::{End, Ending, Increment, Piece, StopBy, VersionSpan};
pub use params::Params;
pub use probe::{Missing, ProbeFailed, ProbeReport, probe};
pub use prompt::{AttemptId, Conversation, Prompt, SessionKey};

use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// An inference engine that speaks ids.
///
/// One implementation is one file or crate; `serve` checks it with [`probe`] before the first
/// session.
pub trait Engine: Send + Sync {
    /// What it can do, as far as it can be known without a request.
    fn capabilities(&self) -> &Capabilities;

    /// Samples from the model after `prompt`.
    ///
    /// The stream yields increments of one or more tokens and then exactly one [`Piece::End`].
    /// Dropping the stream aborts the attempt.
    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece>;

    /// Ends an attempt early. Its stream yields what was sampled so far and [`Ending::Aborted`].
    /// An id that is unknown or over is no error.
    ///
    /// # Errors
    /// [`EngineError`] if the engine could not be told.
    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>>;

    /// The control plane, where the engine has one.
    fn control(&self) -> Option<&dyn Control> {
        None
    }

    /// The engines behind this one, where it is a pool of them.
    fn fleet(&self) -> Option<&dyn Fleet> {
        None
    }

    /// Where requests can be passed on to, if it has an HTTP surface of its own.
    fn forward(&self) -> Option<&dyn Forward> {
        None
    }

    /// Scoring of given ids, where the engine can.
    fn score(&self) -> Option<&dyn Score> {
        None
    }
}
