//! Records into lines and notes.
//!
//! The invariant: a line is what was appended to it, up to the first entry that is not as it was written. What is wrong
//! with a line that is over, or that stands whole further on, is wrong with nothing: its oldest records may be gone
//! already.

use std::collections::HashMap;

use crate::damage::{Damage, What};
use crate::index::{Index, Piece};
use crate::payload::Payloads;
use crate::record::{Entry, Record};
use crate::recover::{Kept, Recovery};

/// What the records told so far come to.
pub(crate) struct Fold<'a> {
    pub(crate) payloads: Payloads,
    pub(crate) index: Index,
    pub(crate) recovery: &'a mut Recovery,
    /// The first thing that is wrong with each line.
    broken: HashMap<Box<str>, Damage>,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(payloads: Payloads, recovery: &'a mut Recovery) -> Self {
        Self { payloads, index: Index::default(), recovery, broken: HashMap::new() }
    }

    /// Takes the record of so many bytes at a place of a segment.
    pub(crate) fn take(&mut self, record: &Record, segment: u64, offset: u64, length: u64) {
        let entries = match record {
            Record::Entry(_, entry) => std::slice::from_ref(entry),
            Record::Whole(_, entries) => entries.as_slice(),
            Record::Cut(_) | Record::Note(..) | Record::Forget(_) => &[],
        };
        let held = entries.iter().flat_map(|entry| &entry.payloads).map(|held| held.length).sum::<u64>();
        match record {
            Record::Entry(line, entry) => {
                // It begins anew: the word that it was over is what is missing.
                if entry.at == 0 {
                    self.over(line);
                    self.index.take(&Record::Cut(line.clone()), Piece { segment, offset, bytes: 0 });
                }
                if let Err(what) = self.append(line, entry) {
                    return self.breaks(line, segment, offset, what);
                }
            }
            Record::Whole(line, entries) => {
                self.over(line);
                for entry in entries {
                    if let Err(what) = self.append(line, entry) {
                        self.breaks(line, segment, offset, what);
                        break;
                    }
                }
            }
            Record::Cut(line) => self.over(line),
            Record::Note(key, body) => {
                self.recovery.notes.insert(key.clone(), body.clone());
            }
            Record::Forget(key) => {
                self.recovery.notes.remove(key);
            }
        }
        self.index.take(record, Piece { segment, offset, bytes: length + held });
    }

    /// What counts, and the payloads' files.
    pub(crate) fn end(self) -> (Index, Payloads) {
        let mut broken: Vec<_> = self.broken.into_values().collect();
        broken.sort_by(|one, other| (&one.path, one.offset).cmp(&(&other.path, other.offset)));
        self.recovery.damages.extend(broken);
        (self.index, self.payloads)
    }

    /// Adds an entry to its line.
    fn append(&mut self, line: &str, entry: &Entry) -> Result<(), What> {
        let there = self.recovery.lines.get(line).map_or(0, Vec::len);
        let expected = u32::try_from(there).unwrap_or(u32::MAX);
        if entry.at != expected {
            return Err(What::Gap { line: line.to_owned(), expected, found: entry.at });
        }
        let payloads = entry.payloads.iter().map(|held| self.payloads.read(held)).collect::<Option<_>>();
        let Some(payloads) = payloads else {
            let bytes = entry.payloads.iter().map(|held| held.length).sum();
            return Err(What::Payload { bytes, line: line.to_owned() });
        };
        let kept = Kept { at: entry.at, body: entry.body.clone(), payloads };
        self.recovery.lines.entry(line.into()).or_default().push(kept);
        Ok(())
    }

    fn over(&mut self, line: &str) {
        self.recovery.lines.remove(line);
        self.broken.remove(line);
    }

    fn breaks(&mut self, line: &str, segment: u64, offset: u64, what: What) {
        let path = self.payloads.records(segment);
        self.broken.entry(line.into()).or_insert(Damage { path, offset, what });
    }
}
