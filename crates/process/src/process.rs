//! The owner's side.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::launcher::{Told, Word};
use crate::{Exit, ProcessError, Spec};

/// The binary that is run again as a launcher.
#[derive(Clone, Debug)]
pub struct Launcher(Arc<Path>);

/// A running process. Dropping it kills what it started, without waiting for the end.
pub struct Process {
    /// Closing it makes the launcher kill what it started, and delete the folder.
    pipe: Option<ChildStdin>,
    words: Lines<BufReader<ChildStdout>>,
    launcher: Child,
    exit: Option<Exit>,
}

impl Launcher {
    /// The running binary itself, also when a newer one has taken its place on disk.
    ///
    /// # Errors
    /// If the system does not tell where it is.
    pub fn this() -> std::io::Result<Self> {
        let this = PathBuf::from("/proc/self/exe");
        std::fs::read_link(&this)?;
        Ok(Self::at(this))
    }

    /// The binary at `path`, which must call [`crate::launcher::main`] when run with the argument
    /// `launcher`.
    pub fn at(path: PathBuf) -> Self {
        Self(path.into())
    }

    /// Starts a process.
    ///
    /// # Errors
    /// [`ProcessError`].
    pub async fn start(&self, spec: &Spec) -> Result<Process, ProcessError> {
        let mut launcher = Command::new(self.0.as_ref())
            .arg("launcher")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C in a terminal goes to the owner, which ends its agents in order.
            .process_group(0)
            .spawn()?;
        let (mut pipe, words) =
            launcher.stdin.take().zip(launcher.stdout.take()).ok_or(ProcessError::Silent)?;
        pipe.write_all(&line(&Told::Start(spec.clone()))).await?;
        let mut words = BufReader::new(words).lines();
        match word(&mut words).await? {
            Word::Started { .. } => Ok(Process { pipe: Some(pipe), words, launcher, exit: None }),
            Word::Failed { reason } => {
                let program = spec.argv.first().cloned().unwrap_or_default();
                Err(ProcessError::Start { program, reason })
            }
            Word::Exited(_) => Err(ProcessError::Silent),
        }
    }
}

impl Process {
    /// Waits until the process and everything it started is gone. Cancel-safe.
    ///
    /// # Errors
    /// [`ProcessError`] if the launcher is lost.
    pub async fn wait(&mut self) -> Result<Exit, ProcessError> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let Word::Exited(exit) = word(&mut self.words).await? else { return Err(ProcessError::Silent) };
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Lets go of the process: ends it if it runs, and deletes the folder that was shared with it.
    ///
    /// # Errors
    /// [`ProcessError`] if the launcher is lost.
    pub async fn close(mut self) -> Result<(), ProcessError> {
        self.pipe = None;
        self.launcher.wait().await?;
        Ok(())
    }

    /// Ends the process: asks it, and kills it after its grace. Returns once everything is gone.
    ///
    /// # Errors
    /// [`ProcessError`] if the launcher is lost.
    pub async fn end(&mut self) -> Result<Exit, ProcessError> {
        if let Some(pipe) = &mut self.pipe {
            // A launcher that is gone already has said how it ended, or never will.
            let _ = pipe.write_all(&line(&Told::End)).await;
        }
        self.wait().await
    }
}

fn line(told: &Told) -> Vec<u8> {
    let mut line = serde_json::to_vec(told).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn word(words: &mut Lines<BufReader<ChildStdout>>) -> Result<Word, ProcessError> {
    let line = words.next_line().await?.ok_or(ProcessError::Silent)?;
    serde_json::from_str(&line).map_err(|_| ProcessError::Silent)
}
