//! SGLang, vLLM and llama.cpp as engines, alone and in pools.
//!
//! The invariants this crate keeps: every token that a server sampled is passed on once, with the
//! logprob and the version that the server gave it, or none; a reply whose ids, logprobs and counts
//! disagree is refused, never repaired; whatever cannot be trusted to be whole is a failure that says
//! what may be done about it.
//!
//! One engine is one folder: what it is asked, how its replies are read, how it is controlled.

mod chat;
mod client;
mod connect;
mod experts;
mod failure;
mod form;
mod host;
mod http;
mod inflight;
mod llamacpp;
mod logprob;
mod options;
mod pairs;
mod pool;
mod sglang;
mod version;
mod vllm;
mod wire;

pub use connect::{Facts, Kind, Server, connect, experts_shape};
pub use options::{ExpertsShape, Options, Parse};
pub use pool::{Pool, PoolOptions};
