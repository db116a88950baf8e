//! What a journal holds when it is opened.
//!
//! The invariant: a line is recovered up to the first of its entries that is not as it was written, and no further; every
//! such place is named. Nothing is changed on disk but the end of a write that did not end.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;

use crate::JournalError;
use crate::damage::{Damage, What};
use crate::disk::Disk;
use crate::fold::Fold;
use crate::frame::Number;
use crate::index::Index;
use crate::mapped::map;
use crate::payload::Payloads;
use crate::record::Record;
use crate::scan::Scan;
use crate::segment::{self, Header};

/// What was kept.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The lines that are not over, by name.
    pub lines: HashMap<Box<str>, Vec<Kept>>,
    /// The notes, by name.
    pub notes: HashMap<Box<str>, Bytes>,
    /// What was not as it was written.
    pub damages: Vec<Damage>,
    /// Bytes that a write which did not end had left behind the last record.
    pub torn: u64,
    /// Segments that were read.
    pub segments: usize,
    /// Records that were read.
    pub records: u64,
}

/// An entry of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where in its line it stands, counted from 0.
    pub at: u32,
    /// What was appended.
    pub body: Bytes,
    /// The payloads that were appended with it; they lie in their files until they are read.
    pub payloads: Vec<Bytes>,
}

/// A segment that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct There {
    pub(crate) segment: u64,
    /// Bytes of its files.
    pub(crate) bytes: u64,
}

/// What the writer goes on from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) index: Index,
    pub(crate) next: Number,
    /// The segments, the oldest first.
    pub(crate) segments: Vec<There>,
    /// Where records end in the last of them.
    pub(crate) end: u64,
    /// The highest number that a segment's file has.
    pub(crate) newest: u64,
    /// Segments that were being made when their process ended.
    pub(crate) unmade: Vec<u64>,
}

impl Recovery {
    /// Reads a folder and changes nothing. A journal that is written meanwhile may seem torn.
    ///
    /// # Errors
    /// [`JournalError::File`], [`JournalError::Format`].
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        recover(folder).map(|(recovery, _)| recovery)
    }
}

/// Reads a folder.
///
/// # Errors
/// [`JournalError::File`], [`JournalError::Format`].
pub(crate) fn recover(folder: &Path) -> Result<(Recovery, State), JournalError> {
    let mut recovery = Recovery::default();
    let Headers { mut found, unmade, newest } = headers(folder, &mut recovery.damages)?;
    found.sort_by_key(|(header, _)| header.first);
    let mut expected = found.first().map_or(Number(1), |(header, _)| header.first);
    let (mut segments, mut end, mut next) = (Vec::new(), 0, Number(1));
    let mut fold = Fold::new(Payloads::new(folder), &mut recovery);
    for (at, (header, named)) in found.iter().enumerate() {
        let path = segment::records(folder, *named);
        let bytes = map(&path).map_err(|error| JournalError::file(&path, "reading", error))?;
        if header.first > expected {
            let what = What::Missing { expected, found: header.first };
            fold.recovery.damages.push(Damage { path: path.clone(), offset: 0, what });
        }
        let until = found.get(at + 1).map(|(next, _)| next.first);
        let scan = Scan { path: &path, bytes: &bytes, expected: header.first, until };
        let (mut damages, mut records) = (Vec::new(), Vec::new());
        let ended = scan.run(|offset, _, body| records.push((offset, bytes.slice_ref(body))), &mut damages);
        fold.recovery.damages.append(&mut damages);
        for (offset, body) in records {
            fold.recovery.records += 1;
            let length = body.len() as u64;
            match Record::read(body) {
                Some(record) => fold.take(&record, *named, offset, length),
                None => {
                    let what = What::Unreadable { bytes: length, lost: 1 };
                    fold.recovery.damages.push(Damage { path: path.clone(), offset, what });
                }
            }
        }
        (expected, next, end) = (ended.next, ended.next, ended.offset);
        fold.recovery.torn = ended.torn;
        fold.recovery.segments += 1;
        segments.push(There { segment: *named, bytes: bytes.len() as u64 + fold.payloads.size(*named) });
    }
    let (index, _) = fold.end();
    Ok((recovery, State { index, next, segments, end, newest, unmade }))
}

/// What the files of a folder say of themselves.
struct Headers {
    /// With the numbers that their names say.
    found: Vec<(Header, u64)>,
    /// Files that were being made when their process ended: nothing was ever written to them.
    unmade: Vec<u64>,
    newest: u64,
}

fn headers(folder: &Path, damages: &mut Vec<Damage>) -> Result<Headers, JournalError> {
    let all = segment::all(folder)?;
    let newest = all.last().copied().unwrap_or_default();
    let (mut found, mut unmade) = (Vec::new(), Vec::new());
    for named in all {
        let path = segment::records(folder, named);
        let broken = |error| JournalError::file(&path, "reading", error);
        let mut damage = |what| damages.push(Damage { path: path.clone(), offset: 0, what });
        match Header::read(&head(&path).map_err(broken)?, &path)? {
            // Only the newest can have been under way.
            None if named == newest && is_blank(&path).map_err(broken)? => unmade.push(named),
            None => damage(What::NoHeader),
            Some(header) => {
                if header.segment != named {
                    damage(What::Misnamed { says: header.segment });
                }
                found.push((header, named));
            }
        }
    }
    Ok(Headers { found, unmade, newest })
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(segment::HEADER);
    std::fs::File::open(path)?.take(segment::HEADER as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether nothing stands behind a file's header.
fn is_blank(path: &Path) -> std::io::Result<bool> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.iter().skip(segment::HEADER).all(|byte| *byte == 0))
}

/// Removes files that were being made, and zeroes what a write that did not end has left, so that nothing of it is ever
/// read again.
///
/// # Errors
/// [`JournalError::File`].
pub(crate) fn cut(folder: &Path, disk: &dyn Disk, state: &State, torn: u64) -> Result<(), JournalError> {
    let left = state.unmade.iter().map(|unmade| segment::records(folder, *unmade));
    for path in left.chain([segment::spare(folder)]).filter(|path| path.exists()) {
        disk.remove(&path)
            .map_err(|error| JournalError::file(&path, "removing what was being made", error))?;
    }
    let Some(last) = state.segments.last().filter(|_| torn > 0) else { return Ok(()) };
    let path = segment::records(folder, last.segment);
    let broken = |error| JournalError::file(&path, "cutting off a write that did not end", error);
    let mut file = disk.open(&path).map_err(broken)?;
    file.write(&vec![0; torn as usize], state.end).map_err(broken)?;
    file.sync().map_err(broken)
}
