//! A few rows times one panel.
//!
//! The invariant: an output is `fma(x[k], w[k], …)` for k from first to last, with the same `w[k]`
//! however the panel is held; neither how many rows share the pass nor where it is cut changes that.

use pulp::Simd;

use super::pack::QUANT_BLOCK;

/// The most rows a pass takes: twelve accumulators are what sixteen registers leave room for.
pub(super) const ROWS: usize = 6;

/// `0x4b00_0000 | byte` is the float 2^23 + byte: eight bits become a float without a conversion.
const MAGIC: u32 = 0x4b00_0000;
const MAGIC_ZERO: f32 = 8_388_608.0 + 128.0;

/// `out[r] += x[r][from..] · panel` for `R` rows. `panel` is `[k][width]` for the inputs from `from`
/// on, `x` is `[R][inputs]`, `out` is `[R][width]`.
#[inline(always)]
pub(super) fn f32_tile<S: Simd, const R: usize>(
    simd: S,
    panel: &[f32],
    x: &[f32],
    from: usize,
    out: &mut [f32],
) {
    let (weights, _) = S::as_simd_f32s(panel).0.as_chunks::<2>();
    let inputs = x.len() / R;
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * inputs + from..][..weights.len()]);
    let mut sums = load::<S, R>(simd, out);
    for (k, pair) in weights.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(rows) {
            add(simd, sum, row[k], *pair);
        }
    }
    store::<S, R>(sums, out);
}

/// The same for one row and a whole quantised panel: each weight is restored as it is used.
#[inline(always)]
pub(super) fn q8_row<S: Simd>(simd: S, words: &[u32], scales: &[f32], x: &[f32], out: &mut [f32]) {
    let (words, _) = S::as_simd_u32s(words).0.as_chunks::<2>();
    let (scales, _) = S::as_simd_f32s(scales).0.as_chunks::<2>();
    let mut sums = load::<S, 1>(simd, out);
    let (x, _) = x.as_chunks::<QUANT_BLOCK>();
    for ((words, scales), x) in words.chunks_exact(QUANT_BLOCK / 4).zip(scales).zip(x) {
        for (word, x) in words.iter().zip(x.as_chunks::<4>().0) {
            for (byte, x) in x.iter().enumerate() {
                let weights =
                    [restore(simd, word[0], byte, scales[0]), restore(simd, word[1], byte, scales[1])];
                add(simd, &mut sums[0], *x, weights);
            }
        }
    }
    store::<S, 1>(sums, out);
}

/// Restores quantised weights, for when several rows will use them.
#[inline(always)]
pub(super) fn restore_panel<S: Simd>(simd: S, words: &[u32], scales: &[f32], panel: &mut [f32]) {
    let (words, _) = S::as_simd_u32s(words).0.as_chunks::<2>();
    let (scales, _) = S::as_simd_f32s(scales).0.as_chunks::<2>();
    let (panel, _) = S::as_mut_simd_f32s(panel).0.as_chunks_mut::<8>();
    let blocks = words.chunks_exact(QUANT_BLOCK / 4).zip(panel.chunks_exact_mut(QUANT_BLOCK / 4));
    for ((words, panel), scales) in blocks.zip(scales) {
        for (word, four) in words.iter().zip(panel) {
            for byte in 0..4 {
                four[2 * byte] = restore(simd, word[0], byte, scales[0]);
                four[2 * byte + 1] = restore(simd, word[1], byte, scales[1]);
            }
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
fn load<S: Simd, const R: usize>(simd: S, out: &[f32]) -> [[S::f32s; 2]; R] {
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    for (sum, pair) in sums.iter_mut().zip(S::as_simd_f32s(out).0.as_chunks::<2>().0) {
        *sum = *pair;
    }
    sums
}

#[inline(always)]
fn store<S: Simd, const R: usize>(sums: [[S::f32s; 2]; R], out: &mut [f32]) {
    for (pair, sum) in S::as_mut_simd_f32s(out).0.as_chunks_mut::<2>().0.iter_mut().zip(sums) {
        *pair = sum;
    }
}
