//! Events as lines of JSON in a file.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use anyhow::Context;
use serde_json::Value;
use verbatim_events::{Event, Observer, record};

/// Writes events on a thread of its own, in their order, so that who commits does not wait for the
/// disk. Dropping it waits until the last one is written.
pub(crate) struct EventLog {
    lines: Option<Sender<Value>>,
    writer: Option<JoinHandle<()>>,
}

impl EventLog {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let (sender, lines) = channel();
        let writer =
            std::thread::Builder::new().name("event-log".into()).spawn(move || write(file, lines))?;
        Ok(Self { lines: Some(sender), writer: Some(writer) })
    }
}

fn write(file: File, lines: std::sync::mpsc::Receiver<Value>) {
    let mut out = BufWriter::new(file);
    while let Ok(first) = lines.recv() {
        // Whatever has queued up meanwhile goes with one flush.
        for line in std::iter::once(first).chain(lines.try_iter()) {
            if let Err(error) = writeln!(out, "{line}") {
                tracing::error!(%error, "the event log cannot be written");
                return;
            }
        }
        if let Err(error) = out.flush() {
            tracing::error!(%error, "the event log cannot be written");
            return;
        }
    }
}

impl Observer for EventLog {
    fn observe(&self, event: &Event) {
        if let Some(lines) = &self.lines {
            // A writer that failed has said so.
            let _ = lines.send(record(event));
        }
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
