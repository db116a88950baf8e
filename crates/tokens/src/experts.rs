//! Which experts of a mixture each token was routed to.
//!
//! The invariant: the bytes are exactly as many as the shape says, and a payload that joins another
//! begins at or before its end, so that joined rows have no gap.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How wide one expert's number is, as the engine sent it (little-endian).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes, signed; never negative.
    I32,
}

impl Width {
    /// Bytes a number.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::I32 => 4,
        }
    }
}

/// The experts that were chosen at a stretch of positions, for routing replay.
///
/// Shape: `rows` positions × `layers` × `top_k`, row-major. A position's row belongs to the forward
/// pass over the token at that position; the last sampled token of a reply was never forwarded, so a
/// whole reply has one row less than it has tokens, its prompt included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    start: usize,
    layers: usize,
    top_k: usize,
    width: Width,
    bytes: Arc<[u8]>,
}

/// A payload that is not what its shape says, or does not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpertsError {
    /// The bytes are no whole number of rows.
    #[error("{bytes} bytes are no whole number of rows of {row} bytes")]
    Size {
        /// How many there are.
        bytes: usize,
        /// How many a row takes.
        row: usize,
    },
    /// Rows between two payloads are missing.
    #[error("rows {end} to {start} are missing")]
    Gap {
        /// One past the last row that is there.
        end: usize,
        /// The next row that is there.
        start: usize,
    },
    /// Two payloads have rows of different shapes.
    #[error("rows of {layers}×{top_k} experts do not join rows of {was_layers}×{was_top_k}")]
    Shape {
        /// Layers of the later one.
        layers: usize,
        /// Experts a layer of the later one.
        top_k: usize,
        /// Layers of the earlier one.
        was_layers: usize,
        /// Experts a layer of the earlier one.
        was_top_k: usize,
    },
}

impl Experts {
    /// Takes a payload whose first row belongs to the token at position `start`.
    ///
    /// # Errors
    /// [`ExpertsError::Size`].
    pub fn new(
        start: usize,
        layers: usize,
        top_k: usize,
        width: Width,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Result<Self, ExpertsError> {
        let bytes = bytes.into();
        let row = layers * top_k * width.bytes();
        if row == 0 || !bytes.len().is_multiple_of(row) {
            return Err(ExpertsError::Size { bytes: bytes.len(), row });
        }
        Ok(Self { start, layers, top_k, width, bytes })
    }

    /// The position of the first row.
    pub fn start(&self) -> usize {
        self.start
    }

    /// One past the position of the last row.
    pub fn end(&self) -> usize {
        self.start + self.rows()
    }

    /// How many positions are covered.
    pub fn rows(&self) -> usize {
        self.bytes.len() / self.row_bytes()
    }

    /// Layers a row.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// Experts a layer.
    pub fn top_k(&self) -> usize {
        self.top_k
    }

    /// How the numbers are stored.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The numbers, little-endian, row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The experts of one position, `layers × top_k` of them; `None` outside.
    pub fn row(&self, position: usize) -> Option<Vec<u32>> {
        let at = position.checked_sub(self.start)?;
        let row = self.row_bytes();
        let bytes = self.bytes.get(at * row..(at + 1) * row)?;
        let number = |bytes: &[u8]| match *bytes {
            [a] => u32::from(a),
            [a, b] => u32::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        Some(bytes.chunks_exact(self.width.bytes()).map(number).collect())
    }

    /// Puts `later` behind the rows before its start.
    ///
    /// # Errors
    /// [`ExpertsError::Gap`] or [`ExpertsError::Shape`].
    pub fn join(&self, later: &Self) -> Result<Self, ExpertsError> {
        if (self.layers, self.top_k) != (later.layers, later.top_k) {
            let (layers, top_k) = (later.layers, later.top_k);
            return Err(ExpertsError::Shape {
                layers,
                top_k,
                was_layers: self.layers,
                was_top_k: self.top_k,
            });
        }
        if later.start > self.end() {
            return Err(ExpertsError::Gap { end: self.end(), start: later.start });
        }
        let width = if self.width.bytes() < later.width.bytes() { later.width } else { self.width };
        let start = self.start.min(later.start);
        let kept = (later.start - start) * self.row_bytes() / self.width.bytes();
        let mut bytes = Vec::with_capacity((kept + later.bytes.len()) * width.bytes());
        widen(&self.bytes[..kept * self.width.bytes()], self.width, width, &mut bytes);
        widen(&later.bytes, later.width, width, &mut bytes);
        Self::new(start, self.layers, self.top_k, width, bytes)
    }

    /// The rows before position `end`.
    pub fn until(&self, end: usize) -> Self {
        let rows = end.saturating_sub(self.start).min(self.rows());
        Self { bytes: self.bytes[..rows * self.row_bytes()].into(), ..self.clone() }
    }

    /// The same numbers in another width, if it is not narrower.
    pub fn widened(&self, width: Width) -> Self {
        if width.bytes() <= self.width.bytes() {
            return self.clone();
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() / self.width.bytes() * width.bytes());
        widen(&self.bytes, self.width, width, &mut bytes);
        Self { width, bytes: bytes.into(), ..self.clone() }
    }

    fn row_bytes(&self) -> usize {
        self.layers * self.top_k * self.width.bytes()
    }
}

/// Appends numbers of one width as numbers of another that is not narrower.
fn widen(from: &[u8], width: Width, to: Width, out: &mut Vec<u8>) {
    if width == to {
        out.extend_from_slice(from);
        return;
    }
    for number in from.chunks_exact(width.bytes()) {
        out.extend_from_slice(number);
        out.resize(out.len() + to.bytes() - width.bytes(), 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(start: usize, values: &[u8]) -> Experts {
        Experts::new(start, 1, 2, Width::U8, values).unwrap()
    }

    #[test]
    fn bytes_must_fill_rows() {
        assert_eq!(
            Experts::new(0, 2, 2, Width::I32, vec![0; 17]),
            Err(ExpertsError::Size { bytes: 17, row: 16 })
        );
        assert!(Experts::new(0, 0, 2, Width::U8, vec![]).is_err());
    }

    #[test]
    fn a_gap_or_another_shape_does_not_join() {
        let early = rows(0, &[1, 2, 3, 4]);
        assert_eq!(early.join(&rows(3, &[5, 6])), Err(ExpertsError::Gap { end: 2, start: 3 }));
        let other = Experts::new(2, 2, 1, Width::U8, vec![1, 2]).unwrap();
        assert!(matches!(early.join(&other), Err(ExpertsError::Shape { .. })));
    }

    #[test]
    fn wider_numbers_keep_their_values() {
        let wide = Experts::new(1, 1, 2, Width::I32, [7u32, 300].map(u32::to_le_bytes).concat()).unwrap();
        let joined = rows(0, &[1, 2, 3, 4]).join(&wide).unwrap();
        assert_eq!(
            (joined.row(0), joined.row(1), joined.row(2)),
            (Some(vec![1, 2]), Some(vec![7, 300]), None)
        );
    }

    proptest! {
        /// Cut anywhere, with any overlap, the later rows win and none is lost.
        #[test]
        fn joining_is_overlaying(first in 1usize..6, from in 0usize..6, second in 1usize..6) {
            let early = rows(0, &vec![1; first * 2]);
            let later = rows(from, &vec![2; second * 2]);
            match early.join(&later) {
                Ok(joined) => {
                    prop_assert!(from <= first);
                    prop_assert_eq!(joined.rows(), from + second);
                    for at in 0..joined.rows() {
                        prop_assert_eq!(joined.row(at), Some(vec![if at < from { 1 } else { 2 }; 2]));
                    }
                }
                Err(error) => {
                    prop_assert!(from > first);
                    prop_assert_eq!(error, ExpertsError::Gap { end: first, start: from });
                }
            }
        }
    }
}
