//! Servers that speak the wire contracts of SGLang, vLLM and llama.cpp, faults included.
//!
//! The invariant this crate keeps: a mock samples nothing itself. Every id and logprob it sends comes
//! from the engine behind it, and what differs from that is a [`Fault`] that a test asked for by name.
//! So a test can ask the engine the same thing without HTTP and must get the same turn.
//!
//! A [`Mock`] is a face of one [`Wire`] over any [`verbatim_engine::Engine`]; [`Canned`] answers paths
//! with exact bytes. Both listen on a loopback port and share a process with the test.

mod answer;
mod ask;
mod body;
mod call;
mod canned;
mod error;
mod experts;
mod fault;
mod images;
mod llamacpp;
mod mock;
mod options;
mod pause;
mod run;
mod runs;
mod seen;
mod serve;
mod sglang;
mod state;
mod tally;
#[cfg(test)]
mod testing;
mod vllm;

pub use ask::Asked;
pub use canned::{Canned, Close, Reply};
pub use error::MockError;
pub use experts::{Experts, Width};
pub use fault::{BadLogprob, Fault};
pub use images::{Count, Images};
pub use mock::Mock;
pub use options::{Decoder, Options, Parser, Wire};
pub use seen::Seen;
