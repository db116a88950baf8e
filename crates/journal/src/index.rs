//! Where what still counts is.
//!
//! The invariant: a segment's live bytes are those of the records that its journal would be missed without: entries of
//! lines that are not over, and the latest note of each name.

use std::collections::{BTreeMap, HashMap};

use crate::record::{Entry, Record};

/// A record that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) segment: u64,
    /// Where its frame begins.
    pub(crate) offset: u64,
    /// Bytes of its frame and of its payloads, which are in the same segment's files.
    pub(crate) bytes: u64,
}

/// A line that is not over.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) pieces: Vec<Piece>,
    /// The entry that comes next.
    pub(crate) next: u32,
}

/// All that counts.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) lines: HashMap<Box<str>, Line>,
    pub(crate) notes: HashMap<Box<str>, Piece>,
    /// Live bytes, by segment.
    live: BTreeMap<u64, u64>,
}

impl Index {
    /// Takes a record that was written, or read, at `piece`.
    pub(crate) fn take(&mut self, record: &Record, piece: Piece) {
        match record {
            Record::Entry(line, entry) => {
                self.count(&piece);
                let line = match self.lines.get_mut(line) {
                    Some(line) => line,
                    None => self.lines.entry(line.clone()).or_default(),
                };
                line.pieces.push(piece);
                line.next = entry.at + 1;
            }
            Record::Whole(line, entries) => {
                self.cut(line);
                self.count(&piece);
                let next = entries.last().map_or(0, |last: &Entry| last.at + 1);
                self.lines.insert(line.clone(), Line { pieces: vec![piece], next });
            }
            Record::Cut(line) => self.cut(line),
            Record::Note(key, _) => {
                self.count(&piece);
                let before = self.notes.insert(key.clone(), piece);
                self.discount(before);
            }
            Record::Forget(key) => {
                let before = self.notes.remove(key);
                self.discount(before);
            }
        }
    }

    /// What still counts in a segment: its lines and its notes.
    pub(crate) fn of(&self, segment: u64) -> (Vec<Box<str>>, Vec<Box<str>>) {
        let has = |line: &Line| line.pieces.iter().any(|piece| piece.segment == segment);
        let lines = self.lines.iter().filter(|(_, line)| has(line)).map(|(name, _)| name.clone());
        let notes = self.notes.iter().filter(|(_, piece)| piece.segment == segment);
        (lines.collect(), notes.map(|(key, _)| key.clone()).collect())
    }

    /// Live bytes of a segment.
    pub(crate) fn live_in(&self, segment: u64) -> u64 {
        self.live.get(&segment).copied().unwrap_or_default()
    }

    /// All live bytes.
    pub(crate) fn live(&self) -> u64 {
        self.live.values().sum()
    }

    fn cut(&mut self, line: &str) {
        let pieces = self.lines.remove(line).map(|line| line.pieces);
        self.discount(pieces.into_iter().flatten());
    }

    fn count(&mut self, piece: &Piece) {
        *self.live.entry(piece.segment).or_default() += piece.bytes;
    }

    fn discount(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        for piece in pieces {
            if let Some(live) = self.live.get_mut(&piece.segment) {
                *live -= piece.bytes;
                if *live == 0 {
                    self.live.remove(&piece.segment);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn piece(segment: u64, bytes: u64) -> Piece {
        Piece { segment, offset: 0, bytes }
    }

    fn entry(at: u32) -> Entry {
        Entry { at, body: Bytes::new(), payloads: Vec::new() }
    }

    #[test]
    fn what_is_over_or_replaced_does_not_count() {
        let mut index = Index::default();
        index.take(&Record::Entry("a".into(), entry(0)), piece(1, 10));
        index.take(&Record::Entry("b".into(), entry(0)), piece(1, 20));
        index.take(&Record::Entry("a".into(), entry(1)), piece(2, 5));
        index.take(&Record::Note("n".into(), Bytes::new()), piece(1, 7));
        assert_eq!((index.live_in(1), index.live_in(2), index.lines["a"].next), (37, 5, 2));
        index.take(&Record::Note("n".into(), Bytes::new()), piece(2, 8));
        index.take(&Record::Cut("b".into()), piece(2, 1));
        assert_eq!((index.live_in(1), index.live_in(2)), (10, 13));
        assert_eq!(index.of(1), (vec!["a".into()], vec![]));
        index.take(&Record::Whole("a".into(), vec![entry(0), entry(1)]), piece(3, 15));
        assert_eq!((index.live_in(1), index.live_in(2), index.live()), (0, 8, 23));
        assert_eq!(index.lines["a"].next, 2);
        index.take(&Record::Forget("n".into()), piece(3, 1));
        index.take(&Record::Cut("a".into()), piece(3, 1));
        assert_eq!(index.live(), 0);
    }
}
