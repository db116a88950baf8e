//! Wire bodies to and from the canonical conversation.
//!
//! The invariants this crate keeps: a request is split and hashed without being parsed, so that only
//! what is new in it need be; what cannot be honoured is refused with the field's name, and what is
//! ignored is reported as a [`verbatim_events::Cause`], never silently.
//!
//! Pure: no I/O, no async, no clock.

pub mod chat;
mod invalid;
mod sampling;
mod wire;

pub use invalid::Invalid;
pub use sampling::Sampling;
pub use wire::Wire;
