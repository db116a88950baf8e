//! The user's Python callables, in supervised host processes.
//!
//! The invariant this crate keeps: a call ends. It yields what the callable gave, or one named
//! [`PluginError`], within its deadline and the grace of a cancel; and no process of a host outlives the
//! [`Host`], nor anything that a plug-in started.
//!
//! A [`Host`] keeps a few workers, each one `python -m verbatim.host` under `verbatim-process`. A worker
//! that dies is started again with back-off and loads again what was loaded. Owner and worker speak
//! [frames](frame) over a Unix socket; a plug-in's own output goes to the worker's log, whose end stands in
//! the error when a worker dies.
//!
//! ```no_run
//! # async fn example() -> Result<(), verbatim_plugins::PluginError> {
//! use verbatim_plugins::{Host, HostOptions, Matcher};
//! let host = Host::start(HostOptions::default()).await?;
//! let matcher = Matcher::load(&host, "my_project.matching:same").await?;
//! # Ok(()) }
//! ```

mod error;
mod faces;
pub mod frame;
mod host;
mod kind;
mod log;
mod options;
mod serve;
mod worker;

pub use error::{Cause, PluginError};
pub use faces::{Agent, Matcher, Picker, PostProcessor, Task};
pub use host::{Host, Plugin, Until};
pub use kind::Kind;
pub use options::HostOptions;
