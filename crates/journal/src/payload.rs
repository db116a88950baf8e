//! Payloads beside their segments.
//!
//! The invariant: a payload that is read has the checksum that it was written with; it lies in its file, not in memory,
//! until somebody looks at it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::frame::plain;
use crate::mapped::map;
use crate::record::Held;
use crate::segment;

/// The files of payloads of a folder.
#[derive(Debug)]
pub(crate) struct Payloads {
    folder: PathBuf,
    open: HashMap<u64, Option<Bytes>>,
}

impl Payloads {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), open: HashMap::new() }
    }

    /// A payload; `None` if it is not as it was written.
    pub(crate) fn read(&mut self, held: &Held) -> Option<Bytes> {
        let file = self.file(held.segment)?;
        let from = usize::try_from(held.offset).ok()?;
        let to = from.checked_add(usize::try_from(held.length).ok()?)?;
        let bytes = (to <= file.len()).then(|| file.slice(from..to))?;
        (plain(&bytes) == held.sum).then_some(bytes)
    }

    /// Bytes of a segment's payloads.
    pub(crate) fn size(&mut self, segment: u64) -> u64 {
        self.file(segment).map_or(0, |file| file.len() as u64)
    }

    /// The file of a segment's records.
    pub(crate) fn records(&self, segment: u64) -> PathBuf {
        segment::records(&self.folder, segment)
    }

    fn file(&mut self, segment: u64) -> Option<Bytes> {
        let path = segment::payloads(&self.folder, segment);
        self.open.entry(segment).or_insert_with(|| map(&path).ok()).clone()
    }
}
