//! Numbers, four bytes each, little-endian.

use bytes::Bytes;
use verbatim_tokens::{Logprobs, TokenId};

pub(super) fn write(ids: &[TokenId]) -> Bytes {
    put(ids.len(), ids.iter().map(|id| id.0.to_le_bytes()))
}

pub(super) fn read(bytes: &[u8]) -> Vec<TokenId> {
    words(bytes).map(|word| TokenId(u32::from_le_bytes(word))).collect()
}

/// A missing one is a NaN.
pub(super) fn write_logprobs(logprobs: &Logprobs) -> Bytes {
    put(logprobs.len(), logprobs.iter().map(|value| value.unwrap_or(f32::NAN).to_le_bytes()))
}

pub(super) fn read_logprobs(bytes: &[u8]) -> Logprobs {
    let mut logprobs = Logprobs::default();
    let values = words(bytes).map(f32::from_le_bytes);
    values.for_each(|value| logprobs.push((!value.is_nan()).then_some(value)));
    logprobs
}

/// Into their places one by one, which takes less than making room for each.
fn put(count: usize, words: impl Iterator<Item = [u8; 4]>) -> Bytes {
    let mut out = vec![0; 4 * count];
    out.chunks_exact_mut(4).zip(words).for_each(|(place, word)| place.copy_from_slice(&word));
    out.into()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk::<4>().copied())
}
