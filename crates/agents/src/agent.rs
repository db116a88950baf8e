//! How an agent is run: one of three ways, behind one function.

use std::time::Duration;

use tokio::sync::oneshot;
use verbatim_process::Launcher;

use crate::{AgentFailure, Command, Function, Input, Output, Remote, Seat, Stopped, Told};

/// An agent.
#[derive(Clone)]
pub struct Agent {
    /// Where it runs.
    pub way: Way,
    /// How long it may be active, for what is said when that is used up: whoever tells it keeps the time.
    pub time: Duration,
}

/// The three ways.
#[derive(Clone)]
pub enum Way {
    /// A command, as a process of its own.
    Command(Command),
    /// A Python function, in a plug-in host.
    Function(Function),
    /// A task of a service elsewhere.
    Remote(Remote),
}

impl Agent {
    /// Runs the agent in its seat. When this returns, nothing of it is left that we started, and its folder is
    /// deleted; a remote service has said that its task is over, or was given its time to say so.
    ///
    /// # Errors
    /// [`AgentFailure`]. Whatever comes of `told`, its sender's end included, ends the agent.
    pub async fn run(
        &self,
        launcher: &Launcher,
        seat: &Seat,
        input: &Input,
        told: oneshot::Receiver<Told>,
    ) -> Result<Output, AgentFailure> {
        let ran = match &self.way {
            Way::Command(command) => command.run(launcher, seat, input, told).await,
            Way::Function(function) => function.run(seat, input, told).await,
            Way::Remote(remote) => remote.run(seat, input, told).await,
        };
        ran.map_err(|stopped| match stopped {
            Stopped::Failed(failure) => failure,
            Stopped::Told(Told::End) => AgentFailure::Cancelled,
            Stopped::Told(Told::TimeUp) => {
                AgentFailure::Timeout { seconds: self.time.as_secs(), tail: String::new() }
            }
            Stopped::Logged(Told::End, _) => AgentFailure::Cancelled,
            Stopped::Logged(Told::TimeUp, tail) => {
                AgentFailure::Timeout { seconds: self.time.as_secs(), tail }
            }
        })
    }
}
