//! The weights of a linear layer and the product with them.
//!
//! The invariant: `times` gives each row what it would give the row alone, bit for bit.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::Isa;
use super::pack::{Packed, QUANT_BLOCK, f32_panels, q8_panels};
use super::tile::{ROWS, f32_tile, q8_row, restore_panel};

/// Weights `[outputs, inputs]`, packed for one instruction set.
pub(crate) struct Matrix {
    packed: Packed,
    outputs: usize,
    inputs: usize,
    isa: Isa,
}

impl Matrix {
    /// Packs row-major `[outputs, inputs]` weights, in eight bits if `quantise` and if the rows
    /// divide into blocks.
    pub(crate) fn new(isa: Isa, weights: &[f32], outputs: usize, inputs: usize, quantise: bool) -> Self {
        let packed = if quantise && inputs.is_multiple_of(QUANT_BLOCK) {
            q8_panels(weights, outputs, inputs, isa.width)
        } else {
            f32_panels(weights, outputs, inputs, isa.width)
        };
        Self { packed, outputs, inputs, isa }
    }

    /// Bytes that the weights hold.
    pub(crate) fn bytes(&self) -> usize {
        match &self.packed {
            Packed::F32(panels) => panels.len() * 4,
            Packed::Q8 { words, scales } => (words.len() + scales.len()) * 4,
        }
    }

    /// Writes the weights of output `at` into `row`, which is `[inputs]`: an embedding's look-up.
    pub(crate) fn row(&self, at: usize, row: &mut [f32]) {
        let width = self.isa.width;
        let (panel, lane) = (at / width, at % width);
        match &self.packed {
            Packed::F32(panels) => {
                let weights = panels[panel * self.inputs * width + lane..].iter().step_by(width);
                row.iter_mut().zip(weights).for_each(|(slot, weight)| *slot = *weight);
            }
            Packed::Q8 { words, scales } => {
                let words = &words[panel * self.inputs / 4 * width + lane..];
                let scales = &scales[panel * self.inputs / QUANT_BLOCK * width + lane..];
                for (k, slot) in row.iter_mut().enumerate() {
                    let byte = words[k / 4 * width].to_le_bytes()[k % 4];
                    *slot = (f32::from(byte) - 128.0) * scales[k / QUANT_BLOCK * width];
                }
            }
        }
    }

    /// `x · weightsᵀ`: `x` is `[rows, inputs]`, the result `[rows, outputs]`.
    pub(crate) fn times(&self, x: &[f32]) -> Vec<f32> {
        let width = self.isa.width;
        let rows = x.len() / self.inputs;
        let mut panels = vec![0.0; self.outputs.div_ceil(width) * rows * width];
        // Small products are not worth waking another thread for.
        let apart = (1 << 17) / (rows * width * self.inputs).max(1);
        panels
            .par_chunks_mut((rows * width).max(1))
            .with_min_len(apart.max(1))
            .enumerate()
            .for_each(|(panel, out)| self.isa.arch.dispatch(Panel { matrix: self, panel, x, out }));
        if rows == 1 {
            panels.truncate(self.outputs);
            return panels;
        }
        let mut result = vec![0.0; rows * self.outputs];
        for (row, slots) in result.chunks_exact_mut(self.outputs).enumerate() {
            for (panel, slots) in slots.chunks_mut(width).enumerate() {
                slots.copy_from_slice(&panels[(panel * rows + row) * width..][..slots.len()]);
            }
        }
        result
    }
}

/// All rows times one panel; `out` is `[rows][width]` and begins as zero.
struct Panel<'a> {
    matrix: &'a Matrix,
    panel: usize,
    x: &'a [f32],
    out: &'a mut [f32],
}

/// Quantised inputs that are restored at a time: what stays in the first-level cache.
const RESTORED: usize = 4 * QUANT_BLOCK;
/// The widest panel there is: two vectors of sixteen.
const WIDEST: usize = 32;

impl WithSimd for Panel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { matrix, panel, x, out } = self;
        let (inputs, width) = (matrix.inputs, matrix.isa.width);
        match &matrix.packed {
            Packed::F32(panels) => {
                f32_rows(simd, &panels[panel * inputs * width..][..inputs * width], x, (inputs, 0), out);
            }
            Packed::Q8 { words, scales } => {
                let (words_each, scales_each) = (inputs / 4 * width, inputs / QUANT_BLOCK * width);
                let words = &words[panel * words_each..][..words_each];
                let scales = &scales[panel * scales_each..][..scales_each];
                if x.len() == inputs {
                    return q8_row(simd, words, scales, x, out);
                }
                let mut restored = [0.0; RESTORED * WIDEST];
                let segments =
                    words.chunks(RESTORED / 4 * width).zip(scales.chunks(RESTORED / QUANT_BLOCK * width));
                for (at, (words, scales)) in segments.enumerate() {
                    let restored = &mut restored[..words.len() * 4];
                    restore_panel(simd, words, scales, restored);
                    f32_rows(simd, restored, x, (inputs, at * RESTORED), out);
                }
            }
        }
    }
}

/// All rows times some inputs of a panel, those from `from` on.
#[inline(always)]
fn f32_rows<S: Simd>(simd: S, panel: &[f32], x: &[f32], (inputs, from): (usize, usize), out: &mut [f32]) {
    let width = 2 * S::F32_LANES;
    for (x, out) in x.chunks(ROWS * inputs).zip(out.chunks_mut(ROWS * width)) {
        match x.len() / inputs {
            1 => f32_tile::<S, 1>(simd, panel, x, from, out),
            2 => f32_tile::<S, 2>(simd, panel, x, from, out),
            3 => f32_tile::<S, 3>(simd, panel, x, from, out),
            4 => f32_tile::<S, 4>(simd, panel, x, from, out),
            5 => f32_tile::<S, 5>(simd, panel, x, from, out),
            _ => f32_tile::<S, ROWS>(simd, panel, x, from, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn a_product_is_the_sum_it_stands_for() {
        let (outputs, inputs, rows) = (70, 96, 9);
        let (weights, x) = (numbers(outputs * inputs, 1), numbers(rows * inputs, 2));
        for quantise in [false, true] {
            let matrix = Matrix::new(Isa::detect(), &weights, outputs, inputs, quantise);
            let product = matrix.times(&x);
            let mut weights = vec![0.0; inputs];
            for output in 0..outputs {
                matrix.row(output, &mut weights);
                for row in 0..rows {
                    let sum: f64 =
                        (0..inputs).map(|k| f64::from(x[row * inputs + k]) * f64::from(weights[k])).sum();
                    assert!((sum - f64::from(product[row * outputs + output])).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn eight_bits_stay_within_half_a_step() {
        let (outputs, inputs) = (3, 64);
        let weights = numbers(outputs * inputs, 3);
        let matrix = Matrix::new(Isa::detect(), &weights, outputs, inputs, true);
        let mut row = vec![0.0; inputs];
        for (output, original) in weights.chunks_exact(inputs).enumerate() {
            matrix.row(output, &mut row);
            assert!(row.iter().zip(original).all(|(a, b)| (a - b).abs() <= 0.5 / 127.0 * 0.501));
        }
    }

    #[test]
    fn a_row_is_the_same_in_any_company() {
        let (outputs, inputs) = (70, 64);
        let (weights, x) = (numbers(outputs * inputs, 4), numbers(23 * inputs, 5));
        for quantise in [false, true] {
            let matrix = Matrix::new(Isa::detect(), &weights, outputs, inputs, quantise);
            let alone: Vec<f32> = x.chunks_exact(inputs).flat_map(|row| matrix.times(row)).collect();
            for rows in 2..=23 {
                assert_eq!(matrix.times(&x[..rows * inputs]), alone[..rows * outputs]);
            }
        }
    }
}
