//! A record on its way to a file, and back.
//!
//! The invariant: a frame is read whole and as it was written, or not at all. Its checksum covers its length, its number
//! and its body, so that neither a torn write nor bytes of an earlier use of the file pass for one.
//!
//! `length: u32, checksum: u32 (CRC-32C), number: u64, body`, little-endian. A length of 0 is where nothing was written.

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// Bytes before a frame's body.
pub(crate) const HEAD: usize = 16;

/// The number of a record: 1 for the first that a journal ever took, then one more each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Number {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What stands at a place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A record.
    Frame { number: Number, body: &'a [u8] },
    /// Nothing was written here.
    End,
    /// Something was, and it is no record.
    Bad,
}

/// Appends a record to what is to be written, its body as `write` appends it. Returns the body's length.
pub(crate) fn put(number: Number, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; HEAD]);
    write(out);
    let (head, body) = out[at..].split_at_mut(HEAD);
    // Bodies beyond 4 GiB are refused where records are made.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..8].copy_from_slice(&sum(length, number, body).to_le_bytes());
    head[8..].copy_from_slice(&number.0.to_le_bytes());
    body.len()
}

/// What stands at the beginning of `bytes`.
pub(crate) fn take(bytes: &[u8]) -> Found<'_> {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
        return if bytes.iter().all(|byte| *byte == 0) { Found::End } else { Found::Bad };
    };
    let [l0, l1, l2, l3, s0, s1, s2, s3, number @ ..] = *head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length == 0 {
        return if head.iter().all(|byte| *byte == 0) { Found::End } else { Found::Bad };
    }
    let number = Number(u64::from_le_bytes(number));
    match rest.get(..length as usize) {
        Some(body) if sum(length, number, body) == u32::from_le_bytes([s0, s1, s2, s3]) => {
            Found::Frame { number, body }
        }
        _ => Found::Bad,
    }
}

/// The checksum of anything else that is kept.
pub(crate) fn plain(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

fn sum(length: u32, number: Number, body: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&length.to_le_bytes());
    digest.update(&number.0.to_le_bytes());
    digest.update(body);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_comes_back_and_a_changed_one_does_not(
            number in 1u64..u64::MAX, body in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut bytes = Vec::new();
            put(Number(number), &mut bytes, |out| out.extend_from_slice(&body));
            prop_assert_eq!(take(&bytes), Found::Frame { number: Number(number), body: &body });
            let at = at.index(bytes.len());
            let mut torn = bytes.clone();
            torn.truncate(at);
            let is_frame = matches!(take(&torn), Found::Frame { .. });
            prop_assert!(!is_frame);
            bytes[at] ^= 1 << bit;
            let is_frame = matches!(take(&bytes), Found::Frame { .. });
            prop_assert!(!is_frame);
        }
    }

    #[test]
    fn zeros_are_the_end() {
        assert_eq!(take(&[0; 40]), Found::End);
        assert_eq!(take(&[0; 3]), Found::End);
        assert_eq!(take(&[]), Found::End);
        assert_eq!(take(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Found::Bad);
    }
}
