//! One agent from start to outcome.

use tokio::sync::oneshot;
use verbatim_process::{Exit, Launcher, ProcessError, Spec, tail};

use crate::environment::{HIDDEN, variables};
use crate::{Agent, BadOutput, Input, Output, Place, Seat};

/// How much of an agent's log goes into an error.
const TAIL: u64 = 8192;

/// What a running agent can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To end.
    End,
    /// That its time is used up.
    TimeUp,
}

/// Why an agent yielded no output.
#[derive(Debug, thiserror::Error)]
pub enum AgentFailure {
    /// It ended badly.
    #[error("the agent ended with {exit}; the end of its log:\n{tail}")]
    Exit {
        /// How.
        exit: Exit,
        /// The end of its log.
        tail: String,
    },
    /// It used up its time.
    #[error("the agent used up its {seconds} s; the end of its log:\n{tail}")]
    Timeout {
        /// The time it had.
        seconds: u64,
        /// The end of its log.
        tail: String,
    },
    /// Its output cannot be read.
    #[error(transparent)]
    Output(#[from] BadOutput),
    /// It was told to end.
    #[error("the agent was told to end")]
    Cancelled,
    /// It could not be run: our failure, not the agent's.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Its folder could not be made or read: our failure, not the agent's.
    #[error("the agent's folder failed: {0}")]
    Folder(#[from] std::io::Error),
}

/// Runs an agent in its seat. When this returns, its processes are gone and its folder is deleted.
///
/// # Errors
/// [`AgentFailure`]. Whatever comes of `told`, its sender's end included, ends the agent.
pub async fn run(
    launcher: &Launcher,
    agent: &Agent,
    seat: &Seat,
    input: &Input,
    told: oneshot::Receiver<Told>,
) -> Result<Output, AgentFailure> {
    let folder = tempfile::Builder::new().prefix("verbatim-session-").tempdir()?;
    let [task, left, log] =
        ["session_input.json", "session_output.json", "command.log"].map(|name| folder.path().join(name));
    std::fs::write(&task, serde_json::to_vec(input).map_err(std::io::Error::other)?)?;
    let place = Place { folder: folder.path(), input: &task, output: &left };
    let spec = Spec {
        argv: vec!["/bin/bash".into(), "-c".into(), agent.command.clone()],
        cwd: agent.cwd.clone(),
        env: variables(seat, place, &agent.env),
        hide: HIDDEN.map(str::to_owned).to_vec(),
        log: log.clone(),
        grace_ms: u64::try_from(agent.grace.as_millis()).unwrap_or(u64::MAX),
    };
    let mut process = launcher.start(&spec).await?;
    let exit = tokio::select! {
        exit = process.wait() => exit?,
        told = told => {
            process.end().await?;
            return Err(match told {
                Ok(Told::TimeUp) => {
                    AgentFailure::Timeout { seconds: agent.timeout.as_secs(), tail: tail(&log, TAIL) }
                }
                Ok(Told::End) | Err(_) => AgentFailure::Cancelled,
            });
        }
    };
    if !exit.success() {
        return Err(AgentFailure::Exit { exit, tail: tail(&log, TAIL) });
    }
    let text = match std::fs::read_to_string(&left) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(BadOutput { problem: "it is not UTF-8".into() }.into());
        }
        other => other?,
    };
    Ok(Output::parse(&text)?)
}
