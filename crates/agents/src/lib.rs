//! Agents as managed processes.
//!
//! The invariants this crate keeps: an agent is told where its session is and nothing about us; its
//! outcome is known only once its processes are gone and its folder is read; a failure of the agent
//! and a failure of ours are different things.

mod agent;
mod environment;
mod input;
mod output;
mod run;

pub use agent::Agent;
pub use environment::{Place, Seat};
pub use input::Input;
pub use output::{BadOutput, Output};
pub use run::{AgentFailure, Told, run};
