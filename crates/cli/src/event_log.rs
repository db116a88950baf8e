//! Events as lines of JSON in a file.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use anyhow::Context;
use serde_json::Value;
use verbatim_events::{Event, Observer, record};

/// Writes events on a thread of its own, in their order, so that who commits does not wait for the
/// disk.
pub(crate) struct EventLog(Sender<Value>);

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
        std::thread::Builder::new().name("event-log".into()).spawn(move || write(file, lines))?;
        Ok(Self(sender))
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
        // A writer that failed has said so.
        let _ = self.0.send(record(event));
    }
}
