//! Space that comes back.
//!
//! The invariant: segments go in the order in which they came, and each only once everything in it that still counts stands
//! in a later one. So a word that something is over is always younger than what it is about.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytes::Bytes;

use crate::JournalError;
use crate::frame::HEAD;
use crate::payload::Payloads;
use crate::record::{Held, Record};
use crate::segment;
use crate::writer::Writer;

/// Files may hold so many times what counts, and [`SPARE`] segments beyond it.
const SLACK: u64 = 2;
const SPARE: u64 = 4;

/// Makes the oldest segment go, if files hold too much that does not count any more.
pub(crate) fn step(writer: &mut Writer) -> Result<(), JournalError> {
    while let Some(oldest) = writer.older.first().copied() {
        let live = writer.index.live_in(oldest.segment);
        let most = SLACK * writer.index.live() + SPARE * writer.segment_bytes();
        if live > 0 && writer.bytes() <= most {
            return Ok(());
        }
        carry(writer, oldest.segment)?;
        release(writer, oldest.segment)?;
    }
    Ok(())
}

/// Writes anew what still counts in a segment.
fn carry(writer: &mut Writer, oldest: u64) -> Result<(), JournalError> {
    let (lines, notes) = writer.index.of(oldest);
    if lines.is_empty() && notes.is_empty() {
        return Ok(());
    }
    let mut reader = Reader { payloads: Payloads::new(&writer.folder), folder: writer.folder.clone() };
    for line in lines {
        let pieces = writer.index.lines.get(&line).map(|line| line.pieces.clone()).unwrap_or_default();
        let mut entries = Vec::new();
        for piece in pieces {
            match reader.record(piece.segment, piece.offset)? {
                Record::Entry(_, entry) => entries.push(entry),
                Record::Whole(_, all) => entries.extend(all),
                Record::Cut(_) | Record::Note(..) | Record::Forget(_) => {}
            }
        }
        let size =
            entries.iter().map(|entry| entry.body.len() + 64 * (1 + entry.payloads.len())).sum::<usize>();
        writer.fits(size + line.len() + 64)?;
        for entry in &mut entries {
            for held in &mut entry.payloads {
                let bytes = reader.payload(held, &line, entry.at)?;
                *held = writer.payload(&bytes)?;
            }
        }
        writer.put(&Record::Whole(line, entries))?;
    }
    for name in notes {
        let Some(piece) = writer.index.notes.get(&name).cloned() else { continue };
        let record = reader.record(piece.segment, piece.offset)?;
        writer.put(&record)?;
    }
    writer.flush()
}

fn release(writer: &mut Writer, oldest: u64) -> Result<(), JournalError> {
    writer.older.retain(|there| there.segment != oldest);
    let path = segment::records(&writer.folder, oldest);
    let is_fresh = writer.fresh.contains(&oldest);
    writer.fresh.retain(|fresh| *fresh != oldest);
    let broken = |error| JournalError::file(&path, "letting go of a segment", error);
    let size = std::fs::metadata(&path).map_err(broken)?.len();
    if is_fresh && writer.spare.is_none() && size == writer.segment_bytes() {
        let spare = segment::spare(&writer.folder);
        // Its name goes first: a segment that is half zeros is never read.
        writer.disk.rename(&path, &spare).map_err(broken)?;
        writer.disk.create(&spare, size).map_err(broken)?;
        writer.spare = Some(spare);
    } else {
        writer.disk.remove(&path).map_err(broken)?;
    }
    let payloads = segment::payloads(&writer.folder, oldest);
    if payloads.exists() {
        writer.disk.remove(&payloads).map_err(broken)?;
    }
    Ok(())
}

/// Reads again what was written.
struct Reader {
    payloads: Payloads,
    folder: PathBuf,
}

impl Reader {
    fn record(&self, segment: u64, offset: u64) -> Result<Record, JournalError> {
        let path = segment::records(&self.folder, segment);
        let broken = |error| JournalError::file(&path, "reading what is carried over", error);
        let file = File::open(&path).map_err(broken)?;
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, offset).map_err(broken)?;
        let [l0, l1, l2, l3, ..] = head;
        let mut body = vec![0; u32::from_le_bytes([l0, l1, l2, l3]) as usize];
        file.read_exact_at(&mut body, offset + HEAD as u64).map_err(broken)?;
        let bad = || {
            broken(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                format!("no record at byte {offset}"),
            ))
        };
        Record::read(body.into()).ok_or_else(bad)
    }

    fn payload(&mut self, held: &Held, line: &str, at: u32) -> Result<Bytes, JournalError> {
        self.payloads.read(held).ok_or_else(|| JournalError::Entry {
            line: line.to_owned(),
            at,
            problem: "a payload is not as it was written".into(),
        })
    }
}
