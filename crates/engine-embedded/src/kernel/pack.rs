//! How weights lie in memory.
//!
//! A weight matrix `[outputs, inputs]` is cut into panels of `width` outputs. Within a panel the
//! inputs come one after the other, each with its `width` weights side by side, so that a product
//! reads memory once, in order, and one vector instruction serves `width / 2` outputs. The last
//! panel is filled up with zeros.

use rayon::prelude::*;

/// Inputs that share a scale in a quantised panel.
pub(crate) const QUANT_BLOCK: usize = 32;

/// Packed weights.
pub(crate) enum Packed {
    /// `[panel][input][width]`.
    F32(Vec<f32>),
    /// Four successive inputs a word, lowest byte first, each byte offset by 128:
    /// `[panel][input / 4][width]`, with scales `[panel][input / 32][width]`.
    Q8 { words: Vec<u32>, scales: Vec<f32> },
}

/// Packs `[outputs, inputs]` weights as they are.
pub(super) fn f32_panels(weights: &[f32], outputs: usize, inputs: usize, width: usize) -> Packed {
    let mut panels = vec![0.0; outputs.div_ceil(width) * inputs * width];
    panels.par_chunks_mut(inputs * width).enumerate().for_each(|(at, panel)| {
        let first = at * width;
        for lane in 0..width.min(outputs - first) {
            let row = &weights[(first + lane) * inputs..][..inputs];
            for (slot, weight) in panel[lane..].iter_mut().step_by(width).zip(row) {
                *slot = *weight;
            }
        }
    });
    Packed::F32(panels)
}

/// Rounds `[outputs, inputs]` weights to eight bits and packs them; `inputs` must be a multiple of
/// [`QUANT_BLOCK`].
pub(super) fn q8_panels(weights: &[f32], outputs: usize, inputs: usize, width: usize) -> Packed {
    let (count, blocks) = (outputs.div_ceil(width), inputs / QUANT_BLOCK);
    // A byte of 128 is zero: what fills the last panel must not count.
    let mut words = vec![0x8080_8080u32; count * inputs / 4 * width];
    let mut scales = vec![0.0; count * blocks * width];
    let panels = words.par_chunks_mut(inputs / 4 * width).zip(scales.par_chunks_mut(blocks * width));
    panels.enumerate().for_each(|(at, (words, scales))| {
        let first = at * width;
        for lane in 0..width.min(outputs - first) {
            let row = &weights[(first + lane) * inputs..][..inputs];
            for (block, values) in row.chunks_exact(QUANT_BLOCK).enumerate() {
                let scale = values.iter().fold(0.0f32, |max, v| max.max(v.abs())) / 127.0;
                let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
                scales[block * width + lane] = scale;
                for (word, four) in values.chunks_exact(4).enumerate() {
                    let bytes = std::array::from_fn(|i| ((four[i] * inverse).round() + 128.0) as u8);
                    words[(block * QUANT_BLOCK / 4 + word) * width + lane] = u32::from_le_bytes(bytes);
                }
            }
        }
    });
    Packed::Q8 { words, scales }
}
