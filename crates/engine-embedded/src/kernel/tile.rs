//! A few rows times one panel.
//!
//! The invariant: an output is `fma(x[k], w[k], …)` for k from first to last, with the same `w[k]`
//! however the panel is held; how many rows share the pass changes nothing.

use pulp::Simd;

use super::pack::QUANT_BLOCK;

/// The most rows a pass takes: twelve accumulators are what sixteen registers leave room for.
pub(super) const ROWS: usize = 6;

/// `0x4b00_0000 | byte` is the float 2^23 + byte: eight bits become a float without a conversion.
const MAGIC: u32 = 0x4b00_0000;
const MAGIC_ZERO: f32 = 8_388_608.0 + 128.0;

/// `out[r] = x[r] · panel` for `R` rows; `x` is `[R][inputs]`, `out` is `[R][width]`.
#[inline(always)]
pub(super) fn f32_tile<S: Simd, const R: usize>(simd: S, panel: &[f32], x: &[f32], out: &mut [f32]) {
    let inputs = x.len() / R;
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * inputs..][..inputs]);
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    let (vectors, _) = S::as_simd_f32s(panel);
    for (k, pair) in vectors.chunks_exact(2).enumerate().take(inputs) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            add(simd, sum, row[k], [pair[0], pair[1]]);
        }
    }
    store::<S, R>(sums, out);
}

/// The same for a quantised panel: each weight is restored as it is used.
#[inline(always)]
pub(super) fn q8_tile<S: Simd, const R: usize>(
    simd: S,
    words: &[u32],
    scales: &[f32],
    x: &[f32],
    out: &mut [f32],
) {
    let inputs = x.len() / R;
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * inputs..][..inputs]);
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    let (words, scales) = (S::as_simd_u32s(words).0, S::as_simd_f32s(scales).0);
    let blocks = words.chunks_exact(QUANT_BLOCK / 2).zip(scales.chunks_exact(2));
    for (block, (words, scales)) in blocks.enumerate() {
        for (word, pair) in words.chunks_exact(2).enumerate() {
            let k = block * QUANT_BLOCK + word * 4;
            for byte in 0..4 {
                let weights =
                    [restore(simd, pair[0], byte, scales[0]), restore(simd, pair[1], byte, scales[1])];
                for (sum, row) in sums.iter_mut().zip(rows) {
                    add(simd, sum, row[k + byte], weights);
                }
            }
        }
    }
    store::<S, R>(sums, out);
}

/// Restores a whole quantised panel, for when many rows will use it.
#[inline(always)]
pub(super) fn restore_panel<S: Simd>(simd: S, words: &[u32], scales: &[f32], panel: &mut [f32]) {
    let (words, scales) = (S::as_simd_u32s(words).0, S::as_simd_f32s(scales).0);
    let (panel, _) = S::as_mut_simd_f32s(panel);
    for (at, (word, four)) in words.chunks_exact(2).zip(panel.chunks_exact_mut(8)).enumerate() {
        let scales = &scales[at / (QUANT_BLOCK / 4) * 2..][..2];
        for byte in 0..4 {
            four[2 * byte] = restore(simd, word[0], byte, scales[0]);
            four[2 * byte + 1] = restore(simd, word[1], byte, scales[1]);
        }
    }
}

#[inline(always)]
fn restore<S: Simd>(simd: S, words: S::u32s, byte: usize, scale: S::f32s) -> S::f32s {
    let shifted = simd.wrapping_dyn_shr_u32s(words, simd.splat_u32s(8 * byte as u32));
    let bits = simd.or_u32s(simd.and_u32s(shifted, simd.splat_u32s(0xff)), simd.splat_u32s(MAGIC));
    let value = simd.sub_f32s(simd.transmute_f32s_u32s(bits), simd.splat_f32s(MAGIC_ZERO));
    simd.mul_f32s(value, scale)
}

#[inline(always)]
fn add<S: Simd>(simd: S, sum: &mut [S::f32s; 2], x: f32, weights: [S::f32s; 2]) {
    let x = simd.splat_f32s(x);
    *sum = [simd.mul_add_e_f32s(x, weights[0], sum[0]), simd.mul_add_e_f32s(x, weights[1], sum[1])];
}

#[inline(always)]
fn store<S: Simd, const R: usize>(sums: [[S::f32s; 2]; R], out: &mut [f32]) {
    let (out, _) = S::as_mut_simd_f32s(out);
    for (pair, sum) in out.chunks_exact_mut(2).zip(sums) {
        pair.copy_from_slice(&sum);
    }
}
