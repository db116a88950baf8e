//! The records of a segment's bytes, whatever was done to them.
//!
//! The invariant: records are told in the order of their numbers, each at most once; what lies between them and is none is
//! named with its place. Bytes behind the last record of the last segment are a write that did not end: they are no
//! damage.

use std::path::Path;

use crate::damage::{Damage, What};
use crate::frame::{Found, HEAD, Number, take};
use crate::segment::HEADER;

/// How far a record's number may be ahead of the one that was to come, for bytes behind damage to be taken for one.
const AHEAD: u64 = 1 << 32;

/// One segment's bytes.
pub(crate) struct Scan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
    /// The record that is to come.
    pub(crate) expected: Number,
    /// The first record of the next segment, if there is one.
    pub(crate) until: Option<Number>,
}

/// Where a segment's records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Behind its last record.
    pub(crate) offset: u64,
    /// Bytes behind it that a write left which did not end.
    pub(crate) torn: u64,
    /// The record that comes next.
    pub(crate) next: Number,
}

impl Scan<'_> {
    /// Tells each record with the place of its frame.
    pub(crate) fn run(
        mut self,
        mut record: impl FnMut(u64, Number, &[u8]),
        damages: &mut Vec<Damage>,
    ) -> End {
        let mut at = HEADER.min(self.bytes.len());
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            match take(rest) {
                Found::Frame { number, body } if number == self.expected => {
                    record(at as u64, number, body);
                    self.expected = number.next();
                    at += HEAD + body.len();
                    continue;
                }
                Found::End if rest.iter().all(|byte| *byte == 0) => return self.end(at, at, damages),
                _ => {}
            }
            let Some((skipped, found)) = self.search(rest) else {
                let written = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                return self.end(at, at + written, damages);
            };
            let lost = found.0 - self.expected.0;
            let what = What::Unreadable { bytes: skipped as u64, lost };
            damages.push(Damage { path: self.path.to_owned(), offset: at as u64, what });
            self.expected = found;
            at += skipped;
        }
    }

    /// The next record behind what is none.
    fn search(&self, rest: &[u8]) -> Option<(usize, Number)> {
        (1..rest.len().saturating_sub(HEAD)).find_map(|skipped| {
            let here = &rest[skipped..];
            let number = u64::from_le_bytes(*here.get(8..HEAD)?.first_chunk()?);
            let plausible = (self.expected.0..self.expected.0.saturating_add(AHEAD)).contains(&number);
            match plausible.then(|| take(here))? {
                Found::Frame { number, .. } => Some((skipped, number)),
                Found::End | Found::Bad => None,
            }
        })
    }

    fn end(self, offset: usize, written: usize, damages: &mut Vec<Damage>) -> End {
        let mut torn = (written - offset) as u64;
        let lost = self.until.map_or(0, |until| until.0.saturating_sub(self.expected.0));
        if lost > 0 {
            let what = What::Unreadable { bytes: torn, lost };
            damages.push(Damage { path: self.path.to_owned(), offset: offset as u64, what });
            torn = 0;
        }
        let next = self.until.unwrap_or(self.expected).max(self.expected);
        End { offset: offset as u64, torn, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::put;

    /// Three records behind a header, and room.
    fn written() -> (Vec<u8>, [usize; 4]) {
        let mut bytes = vec![1; HEADER];
        let mut starts = [HEADER; 4];
        for (number, body) in [(5, "one"), (6, "the second"), (7, "three")] {
            put(Number(number), &mut bytes, |out| out.extend_from_slice(body.as_bytes()));
            starts[number as usize - 4] = bytes.len();
        }
        bytes.resize(bytes.len() + 100, 0);
        (bytes, starts)
    }

    fn scan(bytes: &[u8], until: Option<u64>) -> (Vec<u64>, End, Vec<What>) {
        let scan = Scan { path: Path::new("x"), bytes, expected: Number(5), until: until.map(Number) };
        let (mut told, mut damages) = (Vec::new(), Vec::new());
        let end = scan.run(|_, number, _| told.push(number.0), &mut damages);
        (told, end, damages.into_iter().map(|damage| damage.what).collect())
    }

    #[test]
    fn all_records_are_told() {
        let (bytes, starts) = written();
        let end = End { offset: starts[3] as u64, torn: 0, next: Number(8) };
        assert_eq!(scan(&bytes, None), (vec![5, 6, 7], end, vec![]));
        assert_eq!(scan(&bytes, Some(8)), (vec![5, 6, 7], end, vec![]));
    }

    #[test]
    fn wherever_the_last_write_stopped_what_was_written_before_it_is_told() {
        let (bytes, starts) = written();
        for stop in starts[2] + 1..starts[3] {
            let mut torn = bytes.clone();
            torn[stop..].fill(0);
            let (told, end, damages) = scan(&torn, None);
            assert_eq!((told, damages), (vec![5, 6], vec![]), "stopped at {stop}");
            assert_eq!((end.offset, end.next), (starts[2] as u64, Number(7)));
            assert!(end.torn > 0, "stopped at {stop}");
            // The file may end there too.
            torn.truncate(stop);
            assert_eq!(scan(&torn, None).0, [5, 6]);
        }
    }

    #[test]
    fn a_bit_that_flipped_costs_its_record_alone_and_is_named() {
        let (bytes, starts) = written();
        for at in starts[1]..starts[2] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            let (told, end, damages) = scan(&flipped, None);
            assert_eq!(told, [5, 7], "flipped at {at}");
            assert_eq!(damages, [What::Unreadable { bytes: (starts[2] - starts[1]) as u64, lost: 1 }]);
            assert_eq!(end.next, Number(8));
        }
    }

    #[test]
    fn zeros_where_records_were_are_named_too() {
        let (mut bytes, starts) = written();
        bytes[starts[0]..starts[2]].fill(0);
        let (told, _, damages) = scan(&bytes, None);
        assert_eq!(
            (told, damages),
            (vec![7], vec![What::Unreadable { bytes: (starts[2] - starts[0]) as u64, lost: 2 }])
        );
    }

    #[test]
    fn what_is_missing_before_the_next_segment_is_named() {
        let (mut bytes, starts) = written();
        bytes[starts[2]..].fill(0);
        let (told, end, damages) = scan(&bytes, Some(10));
        assert_eq!((told, damages), (vec![5, 6], vec![What::Unreadable { bytes: 0, lost: 3 }]));
        assert_eq!(end.next, Number(10));
    }
}
