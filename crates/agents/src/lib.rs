//! Agents: commands, Python functions, and tasks of services elsewhere.
//!
//! The invariants this crate keeps: an agent is told where its session is and nothing about us; its
//! outcome is known only once nothing of it is left that we started; a failure of the agent and a failure of
//! ours are different things.

mod agent;
mod command;
mod environment;
mod failure;
mod function;
mod input;
mod output;
mod record;
mod remote;

pub use agent::{Agent, Way};
pub use command::{Command, Limits};
pub use environment::{Place, Seat};
pub use failure::{AgentFailure, Told};
pub use function::Function;
pub use input::Input;
pub use output::{BadOutput, Output, Reward, TurnRewards};
pub use record::Record;
pub use remote::{Remote, RemoteError, RemoteOptions, Slots};

pub(crate) use failure::Stopped;
