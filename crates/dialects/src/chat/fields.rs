//! Reading typed values out of unparsed fields.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Invalid;

/// Whether the field says nothing.
pub(super) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// The field's value; `None` for null.
pub(super) fn read<'a, T: Deserialize<'a>>(
    field: &str,
    raw: &'a RawValue,
    expected: &str,
) -> Result<Option<T>, Invalid> {
    if is_null(raw) {
        return Ok(None);
    }
    serde_json::from_str(raw.get())
        .map(Some)
        .map_err(|_| Invalid::new(field, format!("{} is not {expected}", excerpt(raw))))
}

/// A number in a range; `None` for null.
pub(super) fn number(
    field: &str,
    raw: &RawValue,
    range: std::ops::RangeInclusive<f32>,
) -> Result<Option<f32>, Invalid> {
    let expected = match *range.start() {
        f32::MIN_POSITIVE => format!("a number above 0 and up to {}", range.end()),
        least => format!("a number from {least} to {}", range.end()),
    };
    match read::<f32>(field, raw, &expected)? {
        Some(value) if !range.contains(&value) => {
            Err(Invalid::new(field, format!("{value} is not {expected}")))
        }
        value => Ok(value),
    }
}

/// A value that is refused unless it says nothing.
pub(super) fn refuse(field: &str, raw: &RawValue, way_out: &str) -> Result<(), Invalid> {
    match raw.get() {
        "null" | "[]" | "{}" | "false" | "\"none\"" => Ok(()),
        _ => Err(Invalid::new(field, format!("{} is not supported; {way_out}", excerpt(raw)))),
    }
}

/// The value as it was sent, shortened for a message.
pub(super) fn excerpt(raw: &RawValue) -> String {
    let text = raw.get();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
