//! Segments being written.
//!
//! The invariant: a record is told as kept only once it, and everything appended before it, has reached what the level asks
//! for; after a failure nothing is written any more, for what a disk did with a write that failed is not known.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, Medium};
use crate::frame::{self, HEAD, Number};
use crate::index::{Index, Piece};
use crate::queue::Draft;
use crate::record::{Entry, Held, Record};
use crate::recover::{State, There};
use crate::segment::{self, HEADER, Header};
use crate::{JournalError, Level, Options};

pub(crate) struct Writer {
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) folder: PathBuf,
    options: Options,
    pub(crate) index: Index,
    next: Number,
    /// The segments before the one that is written, the oldest first.
    pub(crate) older: Vec<There>,
    current: Current,
    /// The highest number that a segment has, which need not be the one that is written: files may have been renamed.
    newest: u64,
    /// A file of zeros that waits to be a segment.
    pub(crate) spare: Option<PathBuf>,
    /// Segments that nobody has read: their files may be written again.
    pub(crate) fresh: Vec<u64>,
    /// Whether a file has a name that the disk may not have.
    named: bool,
}

/// The segment that is written.
struct Current {
    segment: u64,
    size: u64,
    records: Box<dyn Medium>,
    /// Frames that are not written yet, and where they go.
    buffer: Vec<u8>,
    at: u64,
    payloads: Option<Box<dyn Medium>>,
    payload_at: u64,
}

impl Writer {
    /// Goes on where an earlier one ended.
    pub(crate) fn new(
        disk: Box<dyn Disk>,
        folder: &Path,
        options: Options,
        state: State,
    ) -> Result<Self, JournalError> {
        let State { index, next, mut segments, end, mut newest, unmade: _ } = state;
        let current = match segments.pop() {
            None => {
                newest += 1;
                let header = Header { segment: newest, first: next };
                Current::create(disk.as_ref(), folder, header, options.segment_bytes)?
            }
            Some(last) => Current::resume(disk.as_ref(), folder, last, end)?,
        };
        let (folder, older) = (folder.to_owned(), segments);
        Ok(Self {
            disk,
            folder,
            options,
            index,
            next,
            older,
            current,
            newest,
            spare: None,
            fresh: Vec::new(),
            named: true,
        })
    }

    /// Writes records, in their order.
    pub(crate) fn batch(&mut self, drafts: Vec<Draft>) -> Result<(), JournalError> {
        for draft in drafts {
            if let Some(record) = self.place(draft)? {
                self.put(&record)?;
            }
        }
        self.flush()
    }

    /// A record as it will stand, its payloads written; a mark is none.
    fn place(&mut self, draft: Draft) -> Result<Option<Record>, JournalError> {
        Ok(Some(match draft {
            Draft::Entry { line, body, payloads } => {
                let at = self.index.lines.get(&line).map_or(0, |line| line.next);
                let size = body.len() + line.len() + 64 * (1 + payloads.len());
                self.fits(size)?;
                let payloads = payloads.iter().map(|bytes| self.payload(bytes)).collect::<Result<_, _>>()?;
                Record::Entry(line, Entry { at, body, payloads })
            }
            Draft::Cut { line } => Record::Cut(line),
            Draft::Note { name, body } => Record::Note(name, body),
            Draft::Forget { name } => Record::Forget(name),
            Draft::Mark => return Ok(None),
        }))
    }

    /// Appends a record. Its payloads, if it has some, must be in the segment that has room for it.
    pub(crate) fn put(&mut self, record: &Record) -> Result<(), JournalError> {
        self.fits(record.room())?;
        let held = match record {
            Record::Entry(_, entry) => std::slice::from_ref(entry),
            Record::Whole(_, entries) => entries,
            Record::Cut(_) | Record::Note(..) | Record::Forget(_) => &[],
        };
        let held = held.iter().flat_map(|entry| &entry.payloads).map(|held| held.length).sum::<u64>();
        let offset = self.current.at + self.current.buffer.len() as u64;
        let length = frame::put(self.next, &mut self.current.buffer, |out| record.write(out)) as u64;
        self.next = self.next.next();
        let piece = Piece { segment: self.current.segment, offset, bytes: length + held };
        self.index.take(record, piece);
        Ok(())
    }

    /// Writes a payload into the file beside the segment.
    pub(crate) fn payload(&mut self, bytes: &[u8]) -> Result<Held, JournalError> {
        let current = &mut self.current;
        let path = segment::payloads(&self.folder, current.segment);
        let file = match &mut current.payloads {
            Some(file) => file,
            none => {
                let made = self.disk.create(&path, 0);
                self.named = true;
                none.insert(made.map_err(|error| JournalError::file(&path, "making it", error))?)
            }
        };
        let (offset, length) = (current.payload_at, bytes.len() as u64);
        file.write(bytes, offset).map_err(|error| JournalError::file(&path, "writing a payload", error))?;
        current.payload_at += length;
        Ok(Held { segment: current.segment, offset, length, sum: frame::plain(bytes) })
    }

    /// Begins another segment if a record has no room in this one.
    pub(crate) fn fits(&mut self, body: usize) -> Result<(), JournalError> {
        let needed = (HEAD + body) as u64;
        let filled = self.current.at + self.current.buffer.len() as u64;
        if filled + needed <= self.current.size {
            return Ok(());
        }
        self.flush()?;
        self.newest += 1;
        let header = Header { segment: self.newest, first: self.next };
        let size = self.options.segment_bytes.max(HEADER as u64 + needed);
        let spare = self.spare.take().filter(|_| size == self.options.segment_bytes);
        let next = match spare {
            Some(spare) => Current::reuse(self.disk.as_ref(), &self.folder, header, &spare, size)?,
            None => Current::create(self.disk.as_ref(), &self.folder, header, size)?,
        };
        let Current { segment, size, payload_at, .. } = std::mem::replace(&mut self.current, next);
        self.older.push(There { segment, bytes: size + payload_at });
        self.fresh.push(segment);
        self.named = true;
        Ok(())
    }

    /// Bytes that the segment still has room for.
    pub(crate) fn room(&self) -> u64 {
        self.current.size.saturating_sub(self.current.at + self.current.buffer.len() as u64)
    }

    /// Writes what is buffered, as durably as the level says.
    pub(crate) fn flush(&mut self) -> Result<(), JournalError> {
        let Current { segment, records, buffer, at, payloads, .. } = &mut self.current;
        let path = || segment::records(&self.folder, *segment);
        let waits = self.options.level == Level::Disk;
        // A record that is there has its payloads, and its file has a name.
        if let Some(payloads) = payloads.as_mut().filter(|_| waits) {
            let path = segment::payloads(&self.folder, *segment);
            payloads.sync().map_err(|error| JournalError::file(path, "waiting for the disk", error))?;
        }
        if waits && self.named {
            let synced = self.disk.sync_names(&self.folder);
            synced.map_err(|error| JournalError::file(&self.folder, "keeping its names", error))?;
            self.named = false;
        }
        records.write(buffer, *at).map_err(|error| JournalError::file(path(), "writing", error))?;
        *at += buffer.len() as u64;
        buffer.clear();
        if waits {
            records.sync().map_err(|error| JournalError::file(path(), "waiting for the disk", error))?;
        }
        Ok(())
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.older.iter().map(|there| there.bytes).sum::<u64>() + self.current.size + self.current.payload_at
    }

    /// Bytes of a segment as they are set.
    pub(crate) fn segment_bytes(&self) -> u64 {
        self.options.segment_bytes
    }
}

impl Current {
    fn create(disk: &dyn Disk, folder: &Path, header: Header, size: u64) -> Result<Self, JournalError> {
        let path = segment::records(folder, header.segment);
        let broken = |error| JournalError::file(&path, "making a segment", error);
        let mut records = disk.create(&path, size).map_err(broken)?;
        records.write(&header.write(), 0).map_err(broken)?;
        Ok(Self::at(header.segment, size, records, HEADER as u64))
    }

    /// Makes a segment of a file of zeros.
    fn reuse(
        disk: &dyn Disk,
        folder: &Path,
        header: Header,
        spare: &Path,
        size: u64,
    ) -> Result<Self, JournalError> {
        let path = segment::records(folder, header.segment);
        let broken = |error| JournalError::file(&path, "making a segment", error);
        let mut records = disk.open(spare).map_err(broken)?;
        records.write(&header.write(), 0).map_err(broken)?;
        disk.rename(spare, &path).map_err(broken)?;
        Ok(Self::at(header.segment, size, records, HEADER as u64))
    }

    fn resume(disk: &dyn Disk, folder: &Path, last: There, end: u64) -> Result<Self, JournalError> {
        let path = segment::records(folder, last.segment);
        let broken = |error| JournalError::file(&path, "opening", error);
        let size = std::fs::metadata(&path).map_err(broken)?.len();
        let records = disk.open(&path).map_err(broken)?;
        let mut current = Self::at(last.segment, size, records, end);
        let payloads = segment::payloads(folder, last.segment);
        if payloads.exists() {
            current.payload_at = std::fs::metadata(&payloads).map_err(broken)?.len();
            current.payloads = Some(disk.open(&payloads).map_err(broken)?);
        }
        Ok(current)
    }

    fn at(segment: u64, size: u64, records: Box<dyn Medium>, at: u64) -> Self {
        Self { segment, size, records, buffer: Vec::new(), at, payloads: None, payload_at: 0 }
    }
}
