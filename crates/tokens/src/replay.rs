//! What the model chose at each position, to be chosen again in training: the experts of a mixture that a token
//! was routed to, or the positions that sparse attention looked at.
//!
//! The invariant: the bytes are exactly as many as the shape says, and a payload that joins another
//! begins at or before its end, so that joined rows have no gap.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// How wide one number is, as the engine sent it (little-endian).
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

/// What was chosen at a stretch of positions: experts, or positions to attend to.
///
/// Shape: `rows` positions × `layers` × `top_k`, row-major. A position's row belongs to the forward
/// pass over the token at that position; the last sampled token of a reply was never forwarded, so a
/// whole reply has one row less than it has tokens, its prompt included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    start: usize,
    layers: usize,
    top_k: usize,
    width: Width,
    bytes: Bytes,
}

/// A payload that is not what its shape says, or does not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
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
        /// Replay a layer of the later one.
        top_k: usize,
        /// Layers of the earlier one.
        was_layers: usize,
        /// Replay a layer of the earlier one.
        was_top_k: usize,
    },
}

impl Replay {
    /// Takes a payload whose first row belongs to the token at position `start`.
    ///
    /// # Errors
    /// [`ReplayError::Size`].
    pub fn new(
        start: usize,
        layers: usize,
        top_k: usize,
        width: Width,
        bytes: impl Into<Bytes>,
    ) -> Result<Self, ReplayError> {
        let bytes = bytes.into();
        let row = layers * top_k * width.bytes();
        if row == 0 || !bytes.len().is_multiple_of(row) {
            return Err(ReplayError::Size { bytes: bytes.len(), row });
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

    /// Replay a layer.
    pub fn top_k(&self) -> usize {
        self.top_k
    }

    /// How the numbers are stored.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The numbers, little-endian, row-major. Cheap to clone.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same numbers, held by other bytes.
    ///
    /// # Errors
    /// [`ReplayError::Size`] if there are more or fewer.
    pub fn held_by(&self, bytes: Bytes) -> Result<Self, ReplayError> {
        if bytes.len() != self.bytes.len() {
            return Err(ReplayError::Size { bytes: bytes.len(), row: self.row_bytes() });
        }
        Ok(Self { bytes, ..self.clone() })
    }

    /// The numbers of one position, `layers × top_k` of them; `None` outside.
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
    /// [`ReplayError::Gap`] or [`ReplayError::Shape`].
    pub fn join(&self, later: &Self) -> Result<Self, ReplayError> {
        Self::overlay(&[self, later], self.start.min(later.start))
    }

    /// The rows from position `from` on of payloads that follow one another, each over those before it. Linear in
    /// the rows that are left.
    ///
    /// # Errors
    /// [`ReplayError::Gap`] if a row is in none of them, [`ReplayError::Shape`].
    pub fn overlay(payloads: &[&Self], from: usize) -> Result<Self, ReplayError> {
        let Some(last) = payloads.last() else { return Err(ReplayError::Gap { end: from, start: from }) };
        let end = last.end().max(from);
        let (mut taken, mut start, mut width) = (Vec::new(), end, last.width);
        // From the last to the first: of each what no later one has.
        for payload in payloads.iter().rev() {
            if (payload.layers, payload.top_k) != (last.layers, last.top_k) {
                return Err(ReplayError::Shape {
                    layers: last.layers,
                    top_k: last.top_k,
                    was_layers: payload.layers,
                    was_top_k: payload.top_k,
                });
            }
            if payload.end() < start {
                return Err(ReplayError::Gap { end: payload.end(), start });
            }
            let first = payload.start.clamp(from, start.max(from));
            if first < start {
                taken.push((*payload, first..start));
                start = first;
                width = if payload.width.bytes() > width.bytes() { payload.width } else { width };
            }
            if start == from {
                break;
            }
        }
        if start > from {
            return Err(ReplayError::Gap { end: from, start });
        }
        let mut bytes = Vec::with_capacity((end - from) * last.layers * last.top_k * width.bytes());
        for (payload, rows) in taken.into_iter().rev() {
            let row = payload.row_bytes();
            let own = (rows.start - payload.start) * row..(rows.end - payload.start) * row;
            widen(&payload.bytes[own], payload.width, width, &mut bytes);
        }
        Self::new(from, last.layers, last.top_k, width, bytes)
    }

    /// The rows from position `start` to `end`, if each of them is here and none beyond: a payload that covers a turn
    /// from where it was wanted to its last forwarded token. What lies before is held by an earlier turn.
    pub fn covering(&self, start: usize, end: usize) -> Option<Self> {
        (self.start() <= start && self.end() == end).then(|| self.since(start))
    }

    /// The rows before position `end`.
    pub fn until(&self, end: usize) -> Self {
        let rows = end.saturating_sub(self.start).min(self.rows());
        Self { bytes: self.bytes.slice(..rows * self.row_bytes()), ..self.clone() }
    }

    /// The rows from position `start` on.
    pub fn since(&self, start: usize) -> Self {
        let rows = start.saturating_sub(self.start).min(self.rows());
        Self { start: self.start + rows, bytes: self.bytes.slice(rows * self.row_bytes()..), ..self.clone() }
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

    fn rows(start: usize, values: &[u8]) -> Replay {
        Replay::new(start, 1, 2, Width::U8, values.to_vec()).unwrap()
    }

    #[test]
    fn bytes_must_fill_rows() {
        assert_eq!(
            Replay::new(0, 2, 2, Width::I32, vec![0; 17]),
            Err(ReplayError::Size { bytes: 17, row: 16 })
        );
        assert!(Replay::new(0, 0, 2, Width::U8, vec![]).is_err());
    }

    #[test]
    fn a_gap_or_another_shape_does_not_join() {
        let early = rows(0, &[1, 2, 3, 4]);
        assert_eq!(early.join(&rows(3, &[5, 6])), Err(ReplayError::Gap { end: 2, start: 3 }));
        let other = Replay::new(2, 2, 1, Width::U8, vec![1, 2]).unwrap();
        assert!(matches!(early.join(&other), Err(ReplayError::Shape { .. })));
    }

    #[test]
    fn a_payload_covers_a_turn_whole_or_not_at_all() {
        let told = rows(2, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(told.covering(2, 5), Some(told.clone()));
        assert_eq!(told.covering(3, 5), Some(rows(3, &[3, 4, 5, 6])), "what is held already is left out");
        assert_eq!(told.covering(1, 5), None, "it begins too late");
        assert_eq!(told.covering(2, 6), None, "its last row is missing");
        assert_eq!(told.covering(2, 4), None, "a row of a token that is not there");
    }

    #[test]
    fn wider_numbers_keep_their_values() {
        let wide = Replay::new(1, 1, 2, Width::I32, [7u32, 300].map(u32::to_le_bytes).concat()).unwrap();
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
                    prop_assert_eq!(error, ReplayError::Gap { end: first, start: from });
                }
            }
        }
    }
}
