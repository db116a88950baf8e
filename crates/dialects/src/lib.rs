//! Wire bodies to and from the canonical conversation.
//!
//! The invariants this crate keeps: a request is split and hashed without being parsed, so that only
//! what is new in it need be; what cannot be honoured is refused with the field's name, and what is
//! ignored is reported as a [`verbatim_events::Cause`], never silently; and a conversation is the same
//! messages whichever dialect carries it.
//!
//! Pure: no I/O, no async, no clock.

pub mod anthropic;
mod body;
mod chains;
pub mod chat;
pub mod completions;
mod counts;
mod declared;
mod demand;
mod fields;
mod frame;
mod image;
mod invalid;
mod recall;
pub mod responses;
mod sampling;
mod seal;
mod wire;

pub use counts::Counts;
pub use demand::{Calls, Demand, Demanded, Shape};
pub use frame::Frame;
pub use invalid::Invalid;
pub use recall::{Forgetful, Recall};
pub use sampling::Sampling;
pub use wire::{Continued, Wire};
