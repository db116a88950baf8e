//! Numbers, four bytes each, little-endian.

use bytes::Bytes;
use verbatim_tokens::{Logprobs, TokenId};

pub(super) fn write(ids: &[TokenId]) -> Bytes {
    let mut out = Vec::with_capacity(4 * ids.len());
    ids.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
    out.into()
}

pub(super) fn read(bytes: &[u8]) -> Vec<TokenId> {
    words(bytes).map(|word| TokenId(u32::from_le_bytes(word))).collect()
}

/// A missing one is a NaN.
pub(super) fn write_logprobs(logprobs: &Logprobs) -> Bytes {
    let mut out = Vec::with_capacity(4 * logprobs.len());
    logprobs.iter().for_each(|value| out.extend_from_slice(&value.unwrap_or(f32::NAN).to_le_bytes()));
    out.into()
}

pub(super) fn read_logprobs(bytes: &[u8]) -> Logprobs {
    let mut logprobs = Logprobs::default();
    let values = words(bytes).map(f32::from_le_bytes);
    values.for_each(|value| logprobs.push((!value.is_nan()).then_some(value)));
    logprobs
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> + '_ {
    bytes.chunks_exact(4).filter_map(|word| word.first_chunk::<4>().copied())
}
