//! What a model that reads images is shown of one.
//!
//! The invariant: an image becomes as many placeholders as the model's own image processor makes of it, so that the
//! ids of a prompt are those that the model reads and a trainer trains on.

use verbatim_tokens::TokenId;

/// The longer side of an image may be this many times the shorter one.
const MAX_RATIO: f64 = 200.0;

/// How a family shows images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vision {
    /// The placeholder.
    pub pad: TokenId,
    /// How many an image needs.
    pub patches: Patches,
}

/// How an image is cut into patches: Qwen's rule since Qwen2-VL. Its sides become multiples of `patch * merge` pixels
/// that keep its shape as nearly as `min_pixels` and `max_pixels` let them, and every `merge * merge` patches are one
/// placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patches {
    /// Pixels a patch's side.
    pub patch: u32,
    /// Patches a placeholder's side.
    pub merge: u32,
    /// An image has at least this many pixels.
    pub min_pixels: u64,
    /// And at most this many.
    pub max_pixels: u64,
}

impl Patches {
    /// Qwen2-VL's and Qwen2.5-VL's, as their `preprocessor_config.json` have them.
    pub const QWEN2_VL: Self = Self { patch: 14, merge: 2, min_pixels: 3_136, max_pixels: 12_845_056 };

    /// Qwen3-VL's and Qwen3.5's.
    pub const QWEN3_VL: Self = Self { patch: 16, merge: 2, min_pixels: 65_536, max_pixels: 16_777_216 };

    /// The patches in time, down and across of an image of `width` by `height` pixels; `None` of one whose sides
    /// differ too much.
    pub fn grid(&self, (width, height): (u32, u32)) -> Option<[u32; 3]> {
        let (w, h) = (f64::from(width), f64::from(height));
        if w.max(h) / w.min(h) > MAX_RATIO {
            return None;
        }
        let factor = f64::from(self.patch * self.merge);
        // Halves go to the even neighbour.
        let near = |side: f64| (side / factor).round_ties_even() * factor;
        let (least, most) = (self.min_pixels as f64, self.max_pixels as f64);
        let mut sides = [near(h), near(w)];
        if sides[0] * sides[1] > most {
            let shrink = (h * w / most).sqrt();
            sides = [h, w].map(|side| ((side / shrink / factor).floor() * factor).max(factor));
        } else if sides[0] * sides[1] < least {
            let grow = (least / (h * w)).sqrt();
            sides = [h, w].map(|side| (side * grow / factor).ceil() * factor);
        }
        let [down, across] = sides.map(|side| (side / f64::from(self.patch)) as u32);
        Some([1, down, across])
    }

    /// How many placeholders a grid has.
    pub fn placeholders(&self, grid: [u32; 3]) -> usize {
        grid.iter().map(|side| *side as usize).product::<usize>() / (self.merge * self.merge) as usize
    }
}
