//! One token's attention over its own past.
//!
//! The invariant: positions are visited from first to last in blocks of [`BLOCK`], counted from the
//! sequence's start, so a token's output depends on its past alone.

use pulp::{Simd, WithSimd};

use super::Isa;
use crate::cache::BLOCK;

/// The queries of one token that share a head of keys and values.
pub(crate) struct Attend<'a> {
    /// `[queries][width]`, already scaled.
    pub(crate) queries: &'a [f32],
    /// Per block the layer's keys `[kv_heads][width][BLOCK]` and then its values
    /// `[kv_heads][BLOCK][width]`.
    pub(crate) blocks: &'a [&'a [f32]],
    /// How many positions the query may see, its own included.
    pub(crate) seen: usize,
    /// Which head of keys and values, of how many.
    pub(crate) head: (usize, usize),
    /// Numbers a head.
    pub(crate) width: usize,
    /// Where `[queries][width]` results go.
    pub(crate) out: &'a mut [f32],
}

/// `softmax(query · keysᵀ) · values` for each query.
pub(crate) fn attend(isa: Isa, task: Attend<'_>) {
    isa.arch.dispatch(task);
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { queries, blocks, seen, head: (head, heads), width, out } = self;
        let (keys, values) = (head * width * BLOCK, (heads + head) * width * BLOCK);
        let mut weights = vec![0.0f32; blocks.len() * BLOCK];
        for (query, out) in queries.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for (block, scores) in blocks.iter().zip(weights.chunks_exact_mut(BLOCK)) {
                scores_of(simd, query, &block[keys..][..width * BLOCK], scores);
            }
            softmax(&mut weights[..seen]);
            weighted(simd, &weights[..seen], blocks, values, out);
        }
    }
}

/// `scores[j] = query · keys[.., j]` for one block of keys `[width][BLOCK]`.
#[inline(always)]
fn scores_of<S: Simd>(simd: S, query: &[f32], keys: &[f32], scores: &mut [f32]) {
    let (keys, scores) = (S::as_simd_f32s(keys).0, S::as_mut_simd_f32s(scores).0);
    let each = scores.len();
    for (at, pair) in scores.chunks_exact_mut(2).enumerate() {
        let mut sums = [simd.splat_f32s(0.0); 2];
        for (q, keys) in query.iter().zip(keys.chunks_exact(each)) {
            let q = simd.splat_f32s(*q);
            sums[0] = simd.mul_add_e_f32s(q, keys[2 * at], sums[0]);
            sums[1] = simd.mul_add_e_f32s(q, keys[2 * at + 1], sums[1]);
        }
        pair.copy_from_slice(&sums);
    }
}

fn softmax(scores: &mut [f32]) {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - most).exp();
        sum += *score;
    }
    let inverse = 1.0 / sum;
    scores.iter_mut().for_each(|score| *score *= inverse);
}

/// `out = Σ weights[j] · values[j]`, the values `[BLOCK][width]` of each block beginning at `at`.
#[inline(always)]
fn weighted<S: Simd>(simd: S, weights: &[f32], blocks: &[&[f32]], at: usize, out: &mut [f32]) {
    let width = out.len();
    let (vectors, tail) = S::as_mut_simd_f32s(out);
    let whole = vectors.len() * S::F32_LANES;
    let mut first = 0;
    let mut fours = vectors.chunks_exact_mut(4);
    for four in &mut fours {
        weighted_part::<S, 4>(simd, weights, blocks, (at, first, width), four);
        first += 4 * S::F32_LANES;
    }
    for one in fours.into_remainder().chunks_exact_mut(1) {
        weighted_part::<S, 1>(simd, weights, blocks, (at, first, width), one);
        first += S::F32_LANES;
    }
    for (lane, slot) in tail.iter_mut().enumerate() {
        let values = blocks.iter().flat_map(|block| block[at..][..BLOCK * width].chunks_exact(width));
        *slot = values.zip(weights).fold(0.0, |sum, (value, weight)| sum + weight * value[whole + lane]);
    }
}

#[inline(always)]
fn weighted_part<S: Simd, const N: usize>(
    simd: S,
    weights: &[f32],
    blocks: &[&[f32]],
    (at, first, width): (usize, usize, usize),
    out: &mut [S::f32s],
) {
    let mut sums = [simd.splat_f32s(0.0); N];
    for (weights, block) in weights.chunks(BLOCK).zip(blocks) {
        for (weight, value) in weights.iter().zip(block[at..][..BLOCK * width].chunks_exact(width)) {
            let weight = simd.splat_f32s(*weight);
            let (value, _) = S::as_simd_f32s(&value[first..][..N * S::F32_LANES]);
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = simd.mul_add_e_f32s(weight, *value, *sum);
            }
        }
    }
    out.copy_from_slice(&sums);
}
