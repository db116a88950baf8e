//! Journals that are opened, killed, filled and damaged.

mod damaged;
mod faults;
mod model;
mod pen;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use crate::{Appended, Journal, JournalError, Level, Options, Recovery};

/// Segments that a few entries fill.
const SMALL: Options = Options { level: Level::Process, segment_bytes: 1 << 10 };

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn append(journal: &Journal, line: &str, body: &[u8], payloads: &[&[u8]]) -> Result<Appended, JournalError> {
    let payloads = payloads.iter().map(|bytes| Bytes::copy_from_slice(bytes)).collect();
    wait(journal.entry(line, body.to_vec(), payloads)).map(|room| journal.append(room))
}

fn note(journal: &Journal, name: &str, body: &[u8]) -> Result<Appended, JournalError> {
    wait(journal.note(name, body.to_vec())).map(|room| journal.append(room))
}

/// Lines with the bodies and the payloads of their entries.
type Lines = BTreeMap<String, Vec<(Vec<u8>, Vec<Vec<u8>>)>>;

fn lines(recovery: &Recovery) -> Lines {
    let lines = recovery.lines.iter().map(|(name, entries)| {
        let told = entries.iter().enumerate().map(|(at, kept)| {
            assert_eq!(kept.at as usize, at, "entries of {name}");
            (kept.body.to_vec(), kept.payloads.iter().map(|payload| payload.to_vec()).collect())
        });
        (name.to_string(), told.collect())
    });
    lines.collect()
}

fn open(folder: &Path) -> (Journal, Recovery) {
    Journal::open(folder, SMALL).expect("a journal")
}

fn bytes_of(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").metadata().expect("its size").len()).sum()
}
