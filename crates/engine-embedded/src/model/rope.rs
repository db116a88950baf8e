//! Rotary positions.

use crate::config::Pairs;

/// Cosine and sine for each pair at one position.
pub(super) struct Turn(Vec<(f32, f32)>);

impl Turn {
    pub(super) fn at(position: usize, frequencies: &[f32]) -> Self {
        // In f32, as the models were trained.
        Self(
            frequencies
                .iter()
                .map(|frequency| position as f32 * frequency)
                .map(|a| (a.cos(), a.sin()))
                .collect(),
        )
    }

    /// Rotates one head `[width]`.
    pub(super) fn apply(&self, head: &mut [f32], pairs: Pairs) {
        let half = head.len() / 2;
        for (pair, (cos, sin)) in self.0.iter().enumerate() {
            let (a, b) = match pairs {
                Pairs::Neighbours => (2 * pair, 2 * pair + 1),
                Pairs::Halves => (pair, pair + half),
            };
            let (x, y) = (head[a], head[b]);
            head[a] = x * cos - y * sin;
            head[b] = x * sin + y * cos;
        }
    }
}
