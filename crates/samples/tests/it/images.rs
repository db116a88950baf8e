//! Rows that show images.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_chat::{Image, ImagePlace, ImageSpan};
use verbatim_samples::{Format, Row};

use crate::golden::two_turns;

/// A GIF of 3 by 2 pixels.
const GIF: &str = "R0lGODdhAwACAIEAAP8AAAAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7";

/// An image at a run of placeholders.
pub(crate) fn at(start: usize, length: usize) -> ImageSpan {
    let image = Image::read(base64_simd::STANDARD.decode_to_vec(GIF).unwrap()).unwrap();
    let place = ImagePlace { start, length, grid: [1, 2, 2 * length as u32] };
    ImageSpan { place, image: Arc::new(image) }
}

fn shown() -> Row {
    Row { images: vec![at(1, 1), at(6, 1)], ..two_turns() }
}

#[test]
fn an_image_is_told_alike_in_every_format() {
    let told = json!({
        "start": 6, "length": 1, "grid_thw": [1, 2, 2], "media_type": "image/gif", "width": 3, "height": 2,
        "sha256": at(0, 1).image.digest(), "data": GIF,
    });
    let file = Format::Jsonl.write(&[shown()]).unwrap();
    let line: Value = serde_json::from_slice(&file).unwrap();
    assert_eq!(line["images"][1], told);
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        assert_eq!(format.read(&format.write(&[shown()]).unwrap()).unwrap(), [shown()]);
    }
}

#[test]
fn a_row_without_images_has_no_word_of_them() {
    let line = Format::Jsonl.write(&[two_turns()]).unwrap();
    assert!(!String::from_utf8(line).unwrap().contains("images"));
}

#[test]
fn an_image_that_is_not_where_it_is_said_to_be_is_refused() {
    let file = Format::Jsonl.write(&[shown()]).unwrap();
    let line: Value = serde_json::from_slice(&file).unwrap();
    for (field, value, told) in [
        ("start", json!(3), "was not observed"),
        ("start", json!(usize::MAX), "placeholders are not"),
        ("length", json!(2), "placeholders are not"),
        ("length", json!(0), "placeholders are not"),
        ("sha256", json!("00"), "sha256"),
        ("data", json!("$"), "no base64"),
        ("data", json!("AAAA"), "cannot be read"),
    ] {
        let mut line = line.clone();
        line["images"][0][field] = value;
        let error = Format::Jsonl.read(line.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(told), "{field}: {error}");
    }
}
