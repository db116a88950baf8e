//! What a journal takes.
//!
//! The invariant: a journal knows two kinds of things, and of neither what it says. A *line* is a list of entries in the
//! order in which they were appended, and ends as a whole. A *note* has a name, and the latest of a name counts.

use bytes::{Buf, BufMut, Bytes};

/// One thing that happens to a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A line grows.
    Entry(Box<str>, Entry),
    /// A line is over.
    Cut(Box<str>),
    /// A line as it is, whatever stood before: what compaction leaves.
    Whole(Box<str>, Vec<Entry>),
    /// A note.
    Note(Box<str>, Bytes),
    /// A note is forgotten.
    Forget(Box<str>),
}

/// An entry of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where in its line it stands, as whoever appends it counts.
    pub(crate) at: u32,
    pub(crate) body: Bytes,
    pub(crate) payloads: Vec<Held>,
}

/// Bytes in the file beside a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The segment.
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) sum: u32,
}

const ENTRY: u8 = 1;
const CUT: u8 = 2;
const WHOLE: u8 = 3;
const NOTE: u8 = 4;
const FORGET: u8 = 5;

impl Record {
    /// Appends it as bytes: `kind: u8, name, …`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Entry(line, entry) => {
                name(ENTRY, line, out);
                entry.write(out);
            }
            Self::Cut(line) => name(CUT, line, out),
            Self::Whole(line, entries) => {
                name(WHOLE, line, out);
                out.put_u32_le(entries.len() as u32);
                entries.iter().for_each(|entry| entry.write(out));
            }
            Self::Note(key, body) => {
                name(NOTE, key, out);
                out.put_slice(body);
            }
            Self::Forget(key) => name(FORGET, key, out),
        }
    }

    /// How many bytes that takes at most.
    pub(crate) fn room(&self) -> usize {
        let entry = |entry: &Entry| 9 + 28 * entry.payloads.len() + entry.body.len();
        match self {
            Self::Entry(key, one) => 3 + key.len() + entry(one),
            Self::Whole(key, all) => 7 + key.len() + all.iter().map(entry).sum::<usize>(),
            Self::Note(key, body) => 3 + key.len() + body.len(),
            Self::Cut(key) | Self::Forget(key) => 3 + key.len(),
        }
    }

    /// From bytes; `None` if they are of no record.
    pub(crate) fn read(mut bytes: Bytes) -> Option<Self> {
        let kind = bytes.try_get_u8().ok()?;
        let length = bytes.try_get_u16_le().ok()?.into();
        let key: Box<str> = std::str::from_utf8(&take(&mut bytes, length)?).ok()?.into();
        let record = match kind {
            ENTRY => Self::Entry(key, Entry::read(&mut bytes)?),
            CUT => Self::Cut(key),
            WHOLE => {
                let count = bytes.try_get_u32_le().ok()?;
                Self::Whole(key, (0..count).map(|_| Entry::read(&mut bytes)).collect::<Option<_>>()?)
            }
            NOTE => Self::Note(key, std::mem::take(&mut bytes)),
            FORGET => Self::Forget(key),
            _ => return None,
        };
        bytes.is_empty().then_some(record)
    }
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>) {
        out.put_u32_le(self.at);
        out.put_u8(self.payloads.len() as u8);
        for held in &self.payloads {
            out.put_u64_le(held.segment);
            out.put_u64_le(held.offset);
            out.put_u64_le(held.length);
            out.put_u32_le(held.sum);
        }
        out.put_u32_le(self.body.len() as u32);
        out.put_slice(&self.body);
    }

    fn read(bytes: &mut Bytes) -> Option<Self> {
        let at = bytes.try_get_u32_le().ok()?;
        let count = bytes.try_get_u8().ok()?;
        let payloads = (0..count).map(|_| {
            Some(Held {
                segment: bytes.try_get_u64_le().ok()?,
                offset: bytes.try_get_u64_le().ok()?,
                length: bytes.try_get_u64_le().ok()?,
                sum: bytes.try_get_u32_le().ok()?,
            })
        });
        let payloads = payloads.collect::<Option<_>>()?;
        let length = bytes.try_get_u32_le().ok()? as usize;
        Some(Self { at, payloads, body: take(bytes, length)? })
    }
}

fn name(kind: u8, name: &str, out: &mut Vec<u8>) {
    out.put_u8(kind);
    out.put_u16_le(name.len() as u16);
    out.put_slice(name.as_bytes());
}

fn take(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (bytes.len() >= length).then(|| bytes.split_to(length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = Entry> {
        let held = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>())
            .prop_map(|(segment, offset, length, sum)| Held { segment, offset, length, sum });
        (any::<u32>(), prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(held, 0..3))
            .prop_map(|(at, body, payloads)| Entry { at, body: body.into(), payloads })
    }

    fn record() -> impl Strategy<Value = Record> {
        let key = "[a-z/é-]{0,12}";
        prop_oneof![
            (key, entry()).prop_map(|(key, entry)| Record::Entry(key.into(), entry)),
            key.prop_map(|key| Record::Cut(key.into())),
            (key, prop::collection::vec(entry(), 0..4)).prop_map(|(key, all)| Record::Whole(key.into(), all)),
            (key, prop::collection::vec(any::<u8>(), 0..40))
                .prop_map(|(key, body)| Record::Note(key.into(), body.into())),
            key.prop_map(|key| Record::Forget(key.into())),
        ]
    }

    proptest! {
        #[test]
        fn records_come_back(record in record()) {
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            prop_assert_eq!(bytes.len(), record.room());
            prop_assert_eq!(Record::read(bytes.into()), Some(record));
        }

        #[test]
        fn other_bytes_are_refused_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(record) = Record::read(bytes.clone().into()) {
                let mut again = Vec::new();
                record.write(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
