//! Replay payloads as engines send them: base64 of bare numbers (SGLang) or of a `.npy` file (vLLM).
//!
//! Decoded once, from the text of the reply to the bytes that rows carry.

use base64_simd::STANDARD;
use verbatim_tokens::{Replay, Width};

use crate::ExpertsShape;

/// A payload that was asked for and told, if it is what it must be; what it is not is logged, and the turn counts
/// it as lost.
pub(crate) fn accepted(decoded: Result<Replay, String>) -> Option<Replay> {
    decoded.inspect_err(|problem| tracing::warn!(problem, "a replay payload was refused")).ok()
}

/// Where the rows of a payload must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The first position asked for.
    pub(crate) from: usize,
    /// Tokens of prompt and reply together. The last of them was never forwarded.
    pub(crate) total: usize,
}

impl Expected {
    /// Engines clamp the start to the last forwarded token.
    fn start(self) -> usize {
        self.from.min(self.total.saturating_sub(1))
    }

    fn rows(self) -> usize {
        self.total.saturating_sub(1) - self.start()
    }
}

/// SGLang's: little-endian `int32`, without a header, all hidden layers.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn bare(text: &str, shape: ExpertsShape, expected: Expected) -> Result<Replay, String> {
    let bytes = STANDARD.decode_to_vec(text).map_err(|error| format!("no base64: {error}"))?;
    let experts = Replay::new(expected.start(), shape.layers, shape.top_k, Width::I32, bytes)
        .map_err(|error| error.to_string())?;
    whole(experts, expected)
}

/// SGLang's choices of an indexer: little-endian `int32` from the first position on, of so many layers; how many
/// a layer has follows from the size.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn layered(text: &str, layers: usize, total: usize) -> Result<Replay, String> {
    let bytes = STANDARD.decode_to_vec(text).map_err(|error| format!("no base64: {error}"))?;
    let rows = total.saturating_sub(1);
    let row = layers * Width::I32.bytes();
    let top_k = bytes.len().checked_div(rows * row).unwrap_or_default();
    if top_k == 0 || top_k * rows * row != bytes.len() {
        return Err(format!("{} bytes for {rows} rows of {layers} layers", bytes.len()));
    }
    Replay::new(0, layers, top_k, Width::I32, bytes).map_err(|error| error.to_string())
}

/// vLLM's: a `.npy` file, versions 1 to 3, C order, `u1`, `u2` or `i4`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn npy(text: &str, expected: Expected) -> Result<Replay, String> {
    let mut file = STANDARD.decode_to_vec(text).map_err(|error| format!("no base64: {error}"))?;
    let (header, at) = header(&file)?;
    let width = match field(header, "descr")?.trim_matches(['\'', '"']) {
        "|u1" | "<u1" => Width::U8,
        "<u2" => Width::U16,
        "<i4" => Width::I32,
        other => return Err(format!("numbers of type {other}")),
    };
    if field(header, "fortran_order")? != "False" {
        return Err("columns come first".to_owned());
    }
    let shape = field(header, "shape")?;
    let shape: Vec<usize> = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().map_err(|_| format!("a shape of {shape}")))
        .collect::<Result<_, _>>()?;
    let [rows, layers, top_k] = shape[..] else { return Err(format!("a shape of {shape:?}")) };
    file.drain(..at);
    let experts =
        Replay::new(expected.start(), layers, top_k, width, file).map_err(|error| error.to_string())?;
    if experts.rows() != rows {
        return Err(format!("{} rows where its header says {rows}", experts.rows()));
    }
    whole(experts, expected)
}

fn whole(experts: Replay, expected: Expected) -> Result<Replay, String> {
    if experts.rows() == expected.rows() {
        return Ok(experts);
    }
    let Expected { from, total } = expected;
    Err(format!("{} rows for positions {from} to {total}", experts.rows()))
}

/// The header's text and where the data begins.
fn header(file: &[u8]) -> Result<(&str, usize), String> {
    let wrong = || "no .npy header".to_owned();
    let (magic, rest) = file.split_at_checked(8).ok_or_else(wrong)?;
    if !magic.starts_with(b"\x93NUMPY") {
        return Err(wrong());
    }
    let wide = match magic[6] {
        1 => 2,
        2 | 3 => 4,
        version => return Err(format!(".npy version {version}")),
    };
    let (length, rest) = rest.split_at_checked(wide).ok_or_else(wrong)?;
    let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let text = rest.get(..length).ok_or_else(wrong)?;
    Ok((std::str::from_utf8(text).map_err(|_| wrong())?, 8 + wide + length))
}

/// The value of one key of a header, which is the text of a Python dictionary.
fn field<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("no {key} in its header");
    let (_, rest) = header.split_once(&format!("'{key}':")).ok_or_else(missing)?;
    let rest = rest.trim_start();
    let end = match rest.starts_with('(') {
        true => rest.find(')').map(|at| at + 1),
        false => rest.find([',', '}']),
    };
    Ok(rest[..end.ok_or_else(missing)?].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ExpertsShape = ExpertsShape { layers: 2, top_k: 2 };

    fn file(version: u8, descr: &str, shape: &str, data: &[u8]) -> String {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        match version {
            1 => file.extend((header.len() as u16).to_le_bytes()),
            _ => file.extend((header.len() as u32).to_le_bytes()),
        }
        file.extend(header.as_bytes());
        file.extend(data);
        STANDARD.encode_to_string(file)
    }

    #[test]
    fn bare_numbers_take_the_models_shape() {
        let text = "AwAAAAEAAAAAAAAAAgAAAAEAAAACAAAAAgAAAAAAAAA=";
        let experts = bare(text, SHAPE, Expected { from: 6, total: 9 }).unwrap();
        assert_eq!((experts.start(), experts.rows()), (6, 2));
        assert_eq!((experts.row(6), experts.row(7)), (Some(vec![3, 1, 0, 2]), Some(vec![1, 2, 2, 0])));
        assert!(bare(text, SHAPE, Expected { from: 6, total: 10 }).is_err(), "a row is missing");
        assert!(bare("AwAA", SHAPE, Expected { from: 6, total: 9 }).is_err());
    }

    #[test]
    fn every_version_and_width_of_npy_is_read() {
        let values = [[3u16, 1, 0, 2], [1, 2, 2, 0]];
        for version in [1, 2, 3] {
            for (descr, bytes) in [
                ("|u1", values.as_flattened().iter().map(|v| *v as u8).collect::<Vec<_>>()),
                ("<u2", values.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect()),
                ("<i4", values.as_flattened().iter().flat_map(|v| u32::from(*v).to_le_bytes()).collect()),
            ] {
                let text = file(version, descr, "(2, 2, 2)", &bytes);
                let experts = npy(&text, Expected { from: 6, total: 9 }).unwrap();
                assert_eq!(experts.row(7), Some(vec![1, 2, 2, 0]), "{version} {descr}");
            }
        }
    }

    #[test]
    fn what_is_no_payload_is_refused_by_what_is_wrong() {
        let expected = Expected { from: 0, total: 3 };
        for (text, wrong) in [
            (file(1, "<f4", "(2, 2, 2)", &[0; 32]), "type <f4"),
            (file(1, "|u1", "(3, 2, 2)", &[0; 8]), "2 rows where its header says 3"),
            (file(1, "|u1", "(1, 2, 2)", &[0; 4]), "1 rows for positions 0 to 3"),
            (file(9, "|u1", "(2, 2, 2)", &[0; 8]), "version 9"),
            (STANDARD.encode_to_string(b"PK"), "header"),
            ("!".to_owned(), "base64"),
        ] {
            let error = npy(&text, expected).unwrap_err();
            assert!(error.contains(wrong), "{error} does not say {wrong}");
        }
    }

    #[test]
    fn a_reply_that_was_all_known_has_no_rows() {
        let experts = npy(&file(1, "|u1", "(0, 2, 2)", &[]), Expected { from: 9, total: 3 }).unwrap();
        assert_eq!((experts.start(), experts.rows()), (2, 0));
    }
}
