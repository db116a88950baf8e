//! The server as a process: started, measured from outside, ended.
//!
//! The invariant: it lives no longer than its owner, because it ends with its standard input.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use verbatim_journal::Level;

use crate::args::{Replies, Streams};
use crate::service::Kept;

/// A `verbatim-bench serve` of our own.
pub(crate) struct Server {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
}

impl Server {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// If it does not start; it has then said why on standard error.
    pub(crate) fn start(replies: &Replies) -> anyhow::Result<Self> {
        Self::with(replies, &[])
    }

    /// One that keeps its sessions, if it is told where.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub(crate) fn keeping(replies: &Replies, kept: Option<&Kept>) -> anyhow::Result<Self> {
        let Some(Kept { folder, level }) = kept else { return Self::start(replies) };
        let folder = folder.to_string_lossy();
        let mut flags = vec!["--journal", &*folder];
        flags.extend((*level == Level::Disk).then_some("--disk"));
        Self::with(replies, &flags)
    }

    /// One whose engine is the simulated one at a pace, and leaves its stamps in a file when it ends.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub(crate) fn pacing(streams: &Streams, stamps: &Path) -> anyhow::Result<Self> {
        let replies =
            Replies { output_tokens: streams.tokens, chunk: 1, payload: 0, lineage: "tree".to_owned() };
        let stamps = stamps.to_string_lossy();
        Self::with(&replies, &["--pace", &streams.pace.to_string(), "--stamps", &stamps])
    }

    fn with(replies: &Replies, more: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .arg("serve")
            .args(more)
            .args(["--output-tokens", &replies.output_tokens.to_string()])
            .args(["--chunk", &replies.chunk.to_string()])
            .args(["--payload", &replies.payload.to_string(), "--lineage", &replies.lineage])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        match line.trim().strip_prefix("listening on ") {
            Some(address) => Ok(Self { address: address.to_owned(), child }),
            None => bail!("the server did not start: it said {line:?} and {}", child.wait()?),
        }
    }

    /// Seconds of CPU that it has used, in its own code and in the kernel's.
    ///
    /// # Errors
    /// If it is gone.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        let stat = self.read("stat")?;
        // The command's name, in parentheses, may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks: u64 =
            fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Bytes of memory that it holds now.
    ///
    /// # Errors
    /// If it is gone.
    pub(crate) fn resident(&self) -> anyhow::Result<u64> {
        self.memory("VmRSS:")
    }

    /// The most bytes that it has held since [`Server::forget_peak`].
    ///
    /// # Errors
    /// If it is gone.
    pub(crate) fn peak(&self) -> anyhow::Result<u64> {
        self.memory("VmHWM:")
    }

    /// Begins a new peak, where the kernel lets us. Loading a vocabulary takes more memory than
    /// serving, and is not what is measured.
    pub(crate) fn forget_peak(&self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    fn memory(&self, field: &str) -> anyhow::Result<u64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib << 10).with_context(|| format!("the kernel does not tell {field}"))
    }

    fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
