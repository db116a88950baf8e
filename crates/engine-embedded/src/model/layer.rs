//! What one layer of the decoder holds, and the steps between its products.

use crate::kernel::Matrix;

/// A product and what is added to it.
pub(super) struct Linear {
    pub(super) matrix: Matrix,
    /// `[outputs]`.
    pub(super) bias: Option<Vec<f32>>,
}

impl Linear {
    /// `x` is `[rows, inputs]`, the result `[rows, outputs]`.
    pub(super) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let mut y = self.matrix.times(x);
        if let Some(bias) = &self.bias {
            y.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias));
        }
        y
    }
}

/// One layer's weights.
pub(super) struct Layer {
    pub(super) attention_norm: Vec<f32>,
    /// Queries, keys and values in one product.
    pub(super) queries_keys_values: Linear,
    /// Norms of each head's queries and keys (qwen3).
    pub(super) head_norms: Option<(Vec<f32>, Vec<f32>)>,
    pub(super) attention_out: Linear,
    pub(super) feed_norm: Vec<f32>,
    /// Gate and up in one product.
    pub(super) gate_up: Linear,
    pub(super) down: Linear,
}

impl Layer {
    pub(super) fn bytes(&self) -> usize {
        let linears = [&self.queries_keys_values, &self.attention_out, &self.gate_up, &self.down];
        linears.iter().map(|linear| linear.matrix.bytes()).sum()
    }
}

/// `a += b`.
pub(super) fn add(a: &mut [f32], b: &[f32]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// Scales `row` to a root mean square of one, times `weight`.
pub(super) fn rms_norm(row: &mut [f32], weight: &[f32], epsilon: f32) {
    let square: f32 = row.iter().map(|x| x * x).sum();
    let scale = 1.0 / (square / row.len() as f32 + epsilon).sqrt();
    row.iter_mut().zip(weight).for_each(|(x, weight)| *x = *x * scale * weight);
}

/// `silu(gate) · up` for one row `[2 · width]` of gates and ups.
pub(super) fn gated(row: &[f32], out: &mut [f32]) {
    let (gate, up) = row.split_at(out.len());
    for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
        *out = gate / (1.0 + (-gate).exp()) * up;
    }
}
