//! The HTTP face: sessions, turns in three dialects, samples, metrics.
//!
//! The invariants this crate keeps: every failure is mapped to a status and an error body in one
//! place ([`ApiError`]); the last event of a reply is sent after its commit; whoever holds a session's
//! token can take turns in that session and nothing else, once a control key is set.

mod access;
mod adapters;
mod anthropic;
mod app;
mod chat;
mod completions;
mod control;
mod error;
mod health;
mod hooks;
mod metrics;
mod miles;
mod models;
mod openapi;
mod proxy;
mod reply;
mod responses;
mod rollout;
mod samples;
mod sent;
mod server;
mod sessions;
mod sse;
mod update;

pub use access::{Access, ControlKey, ShortKey};
pub use app::{App, Limits, router};
pub use error::ApiError;
pub use hooks::{Hooks, UserMatcher};
pub use ipnet::IpNet;
pub use metrics::Metrics;
pub use rollout::RolloutControl;
pub use server::serve;
pub use update::Update;
