//! Sessions and their turns.
//!
//! The invariants this crate keeps: nothing of a session changes before a turn commits; a turn is
//! committed, and kept if there is a journal, before its last event is sent; no lock is held across an await; and a session that is
//! closed has no turn in flight.
//!
//! One turn: attach (which stored path does the request begin with?) → render (only what is new) →
//! ask the scheduler → attempts at the engine → commit. What is decided is decided in pure crates;
//! this one carries it out.

mod adapters;
mod attach;
mod attempt;
mod calls;
mod commit;
mod dispatch;
mod ended;
mod error;
mod feed;
mod form;
mod images;
mod keeper;
mod locate;
mod matching;
mod openings;
mod pinned;
mod prepare;
mod raw;
mod release;
mod restore;
mod retry;
mod salt;
mod sampling;
mod session;
mod sessions;
mod settings;
mod spill;
mod stop;
mod token;
mod turn;
mod unread;

pub use adapters::{Adapter, Kept};
pub use calls::Sent;
pub use dispatch::Dispatcher;
pub use error::TurnError;
pub use feed::Events;
pub use keeper::Unkept;
pub use matching::{Matching, Predicate};
pub use raw::Ids;
pub use restore::Restored;
pub use session::Session;
pub use sessions::{NoSession, OpenOptions, Sessions, TooManySessions};
pub use settings::{Quota, SamplingDefaults, Settings, ToolsDrift};
pub use spill::SpillOptions;
pub use token::SessionToken;
pub use turn::{Asked, Committed, Prompted, Reply, SampledToken, TurnEvent};
pub use verbatim_scheduler::{Budget, Running};
