//! Routes of experts that anybody can recompute.

use std::fmt::Write as _;

use crate::fault::Fault;
use crate::tally::Tally;

/// How wide one expert's number is on vLLM's wire. SGLang's is always four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    U8,
    /// Two bytes, little-endian.
    U16,
    /// Four bytes, little-endian.
    I32,
}

/// A mixture of experts. A token's routes are a function of its position and id alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// Hidden layers, dense ones included.
    pub layers: usize,
    /// Experts a token and layer.
    pub top_k: usize,
    /// Experts there are; at least `top_k`.
    pub experts: usize,
    /// How wide vLLM sends them.
    pub width: Width,
}

impl Experts {
    /// The routes of one token, layer by layer, `top_k` each.
    pub fn row(&self, position: usize, id: u32) -> Vec<i32> {
        let places = (0..self.layers).flat_map(|layer| (0..self.top_k).map(move |k| (layer, k)));
        places
            .map(|(layer, k)| {
                let first = id as usize * 31 + position * 7 + layer * 13;
                ((first + k) % self.experts.max(1)) as i32
            })
            .collect()
    }

    /// The rows of `ids` from `start` up to the last id, which was never forwarded and has none.
    pub fn rows(&self, ids: &[u32], start: usize) -> Vec<i32> {
        let end = ids.len().saturating_sub(1);
        (start..end).flat_map(|at| self.row(at, ids.get(at).copied().unwrap_or_default())).collect()
    }

    /// Numbers a row.
    pub fn stride(&self) -> usize {
        self.layers * self.top_k
    }

    /// SGLang's form: base64 of headerless little-endian int32.
    pub(crate) fn flat(rows: &[i32]) -> String {
        let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
        base64_simd::STANDARD.encode_to_string(bytes)
    }

    /// vLLM's form: base64 of a `.npy` file.
    pub(crate) fn npy(&self, rows: &[i32]) -> String {
        let (descr, width) = match self.width {
            Width::U8 => ("|u1", 1),
            Width::U16 => ("<u2", 2),
            Width::I32 => ("<i4", 4),
        };
        let count = rows.len().checked_div(self.stride()).unwrap_or_default();
        let mut header = String::new();
        let _ = write!(
            header,
            "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count}, {}, {}), }}",
            self.layers, self.top_k
        );
        // Magic, version and length take ten bytes; the whole head fills blocks of 64 and ends a line.
        while !(10 + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.into_bytes());
        file.extend(rows.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width)));
        base64_simd::STANDARD.encode_to_string(file)
    }
}

/// The rows of a finished turn, as wrong as its faults want them.
pub(crate) fn rows(tally: &Tally, experts: &Experts, start: usize) -> Vec<i32> {
    let mut rows = experts.rows(&tally.all(), start);
    if tally.plan.has(&Fault::MissingExperts) {
        rows.truncate(rows.len().saturating_sub(experts.stride()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [i32; 16] = [3, 1, 0, 2, 1, 2, 2, 0, 0, 1, 3, 1, 2, 3, 1, 0];

    #[test]
    fn flat_rows_are_little_endian_words() {
        let flat = "AwAAAAEAAAAAAAAAAgAAAAEAAAACAAAAAgAAAAAAAAAAAAAAAQAAAAMAAAABAAAAAgAAAAMAAAABAAAAAAAAAA==";
        assert_eq!(Experts::flat(&ROWS), flat);
    }

    #[test]
    fn npy_is_what_numpy_writes() {
        let experts = Experts { layers: 2, top_k: 2, experts: 4, width: Width::U8 };
        let file = "k05VTVBZAQB2AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDQsIDIsIDIpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoDAQACAQICAAABAwECAwEA";
        assert_eq!(experts.npy(&ROWS), file);
    }
}
