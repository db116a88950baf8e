//! An agent that is a command: it takes its task from a file, or from its environment, and leaves its result in one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::oneshot;
use verbatim_process::{Inherit, Launcher, Process, Spec, tail};

use crate::environment::{HIDDEN, variables};
use crate::failure::Stopped;
use crate::output::bad;
use crate::{AgentFailure, Input, Output, Place, Seat, Told};

/// How much of an agent's log goes into an error.
const TAIL: u64 = 8192;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Run by `/bin/bash -c`: no login shell, whose profile would take time at each start, could override what the
    /// agent is told, and may leave a lock behind when it is killed.
    pub command: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables of the user's.
    pub env: BTreeMap<String, String>,
    /// Which of our own variables it gets; `None` is all but those that open what is not its own.
    pub inherit: Option<Vec<String>>,
    /// What it may use of the machine.
    pub limits: Limits,
    /// How long it may take to end once it was told to.
    pub grace: Duration,
}

/// What each process of an agent may use; `None` is what the server itself may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Address space.
    pub memory_mib: Option<u64>,
    /// Open files.
    pub files: Option<u64>,
    /// Processor time.
    pub cpu_seconds: Option<u64>,
    /// The size of a file that it writes.
    pub file_mib: Option<u64>,
}

impl Limits {
    /// What the shell is told before the command.
    fn ulimit(self) -> Option<String> {
        let flag = |name: &str, value: Option<u64>| value.map(|value| format!(" {name} {value}"));
        let kib = |mib: Option<u64>| mib.map(|mib| mib.saturating_mul(1024));
        let flags = [
            flag("-v", kib(self.memory_mib)),
            flag("-n", self.files),
            flag("-t", self.cpu_seconds),
            flag("-f", kib(self.file_mib)),
        ];
        let flags: String = flags.into_iter().flatten().collect();
        (!flags.is_empty()).then(|| format!("ulimit{flags}"))
    }
}

impl Command {
    /// What is run. Limits are set by a shell that then becomes the command's.
    fn argv(&self) -> Vec<String> {
        let shell = ["/bin/bash".to_owned(), "-c".to_owned()];
        match self.limits.ulimit() {
            None => [&shell[..], std::slice::from_ref(&self.command)].concat(),
            Some(ulimit) => {
                let script = format!("{ulimit} && exec /bin/bash -c \"$1\"");
                [&shell[..], &[script, "agent".to_owned(), self.command.clone()]].concat()
            }
        }
    }

    pub(crate) async fn run(
        &self,
        launcher: &Launcher,
        seat: &Seat,
        input: &Input,
        told: oneshot::Receiver<Told>,
    ) -> Result<Output, Stopped> {
        let folder = tempfile::Builder::new().prefix("verbatim-session-").tempdir()?;
        let [task, left, log] =
            ["session_input.json", "session_output.json", "command.log"].map(|name| folder.path().join(name));
        std::fs::write(&task, serde_json::to_vec(input).map_err(std::io::Error::other)?)?;
        let place = Place { folder: folder.path(), input: &task, output: &left };
        let inherit = match &self.inherit {
            None => Inherit::Except(HIDDEN.map(str::to_owned).to_vec()),
            Some(names) => {
                let allowed = |name: &&String| !HIDDEN.contains(&name.as_str());
                Inherit::Only(names.iter().filter(allowed).cloned().collect())
            }
        };
        let spec = Spec {
            argv: self.argv(),
            cwd: self.cwd.clone(),
            env: variables(seat, place, &self.env),
            inherit,
            log: log.clone(),
            folder: Some(folder.path().to_owned()),
            grace_ms: u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX),
        };
        let mut process = launcher.start(&spec).await?;
        let left = self.left(&mut process, told, &left, &log).await;
        // The launcher deletes the folder, as it would if this process were killed now. What it could not is deleted here.
        if let Err(error) = process.close().await {
            tracing::warn!(%error, "an agent's launcher is lost");
        }
        left
    }

    /// What the agent left, once everything that it started is gone.
    async fn left(
        &self,
        process: &mut Process,
        told: oneshot::Receiver<Told>,
        left: &Path,
        log: &Path,
    ) -> Result<Output, Stopped> {
        let exit = tokio::select! {
            exit = process.wait() => exit?,
            told = told => {
                process.end().await?;
                return Err(Stopped::Logged(told.unwrap_or(Told::End), tail(log, TAIL)));
            }
        };
        if !exit.success() {
            return Err(AgentFailure::Exit { exit, tail: tail(log, TAIL) }.into());
        }
        let text = match std::fs::read_to_string(left) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(bad("it is not UTF-8").into());
            }
            other => other?,
        };
        Ok(Output::parse(&text)?)
    }
}
