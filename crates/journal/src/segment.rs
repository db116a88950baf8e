//! One file of a journal.
//!
//! The invariant: a segment says which one it is and which record it begins with, so that segments which were lost,
//! swapped or are another version's are known for what they are.

use std::path::{Path, PathBuf};

use bytes::Buf;

use crate::JournalError;
use crate::frame::{Number, plain};

/// The version of everything that is written here.
pub(crate) const FORMAT: u32 = 2;
/// Bytes before a segment's first record.
pub(crate) const HEADER: usize = 32;

const MAGIC: &[u8; 8] = b"verbatim";
const RECORDS: &str = "records";
const PAYLOADS: &str = "payloads";

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Which segment, counted from 1.
    pub(crate) segment: u64,
    /// The record that it begins with.
    pub(crate) first: Number,
}

impl Header {
    /// `magic, checksum: u32, format: u32, segment: u64, first: u64`; the checksum is of what follows it.
    pub(crate) fn write(self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..8].copy_from_slice(MAGIC);
        out[12..16].copy_from_slice(&FORMAT.to_le_bytes());
        out[16..24].copy_from_slice(&self.segment.to_le_bytes());
        out[24..].copy_from_slice(&self.first.0.to_le_bytes());
        let sum = plain(&out[12..]);
        out[8..12].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// What the beginning of a file says; `None` if it is no segment's.
    ///
    /// # Errors
    /// [`JournalError::Format`].
    pub(crate) fn read(mut bytes: &[u8], path: &Path) -> Result<Option<Self>, JournalError> {
        let Some(rest) = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() >= HEADER - MAGIC.len()) else {
            return Ok(None);
        };
        bytes = rest;
        let sum = bytes.get_u32_le();
        if plain(&bytes[..HEADER - 12]) != sum {
            return Ok(None);
        }
        let found = bytes.get_u32_le();
        if found != FORMAT {
            return Err(JournalError::Format { path: path.to_owned(), found, known: FORMAT });
        }
        Ok(Some(Self { segment: bytes.get_u64_le(), first: Number(bytes.get_u64_le()) }))
    }
}

/// The file of a segment's records.
pub(crate) fn records(folder: &Path, segment: u64) -> PathBuf {
    folder.join(format!("{segment:010}.{RECORDS}"))
}

/// The file of its payloads, which is there only if it has some.
pub(crate) fn payloads(folder: &Path, segment: u64) -> PathBuf {
    folder.join(format!("{segment:010}.{PAYLOADS}"))
}

/// A file of zeros that waits to be a segment.
pub(crate) fn spare(folder: &Path) -> PathBuf {
    folder.join("spare")
}

/// The segments that a folder has files of, in order.
///
/// # Errors
/// [`JournalError::File`].
pub(crate) fn all(folder: &Path) -> Result<Vec<u64>, JournalError> {
    let broken = |error| JournalError::file(folder, "listing", error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        let is_records = path.extension().is_some_and(|extension| extension == RECORDS);
        let name = path.file_stem().filter(|_| is_records).and_then(|stem| stem.to_str());
        found.extend(name.and_then(|name| name.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_another_format_is_named() {
        let header = Header { segment: 7, first: Number(1000) };
        let bytes = header.write();
        let path = Path::new("x");
        assert_eq!(Header::read(&bytes, path).unwrap(), Some(header));
        let mut other = bytes;
        other[12] = 9;
        let sum = plain(&other[12..]);
        other[8..12].copy_from_slice(&sum.to_le_bytes());
        assert!(matches!(Header::read(&other, path), Err(JournalError::Format { found: 9, .. })));
        for at in 0..HEADER {
            let mut bad = bytes;
            bad[at] ^= 1;
            assert_eq!(Header::read(&bad, path).unwrap(), None, "byte {at}");
        }
        assert_eq!(Header::read(&[0; 64], path).unwrap(), None);
    }
}
