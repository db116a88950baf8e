//! Reading typed values out of unparsed fields.

use serde::Deserialize;
use serde_json::value::RawValue;
use verbatim_events::Cause;

use crate::Invalid;

/// Whether the field says nothing.
pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Whether the field asks for nothing.
pub(crate) fn is_idle(raw: &RawValue) -> bool {
    matches!(raw.get(), "null" | "[]" | "{}" | "false" | "\"none\"")
}

/// The loss of a field that is accepted and not acted on; none, if it says nothing.
pub(crate) fn ignored(path: impl Into<String>, raw: &RawValue) -> Option<Cause> {
    let says = !matches!(raw.get(), "null" | "[]" | "{}");
    says.then(|| Cause::FieldIgnored { field: path.into() })
}

/// The field's value; `None` for null.
pub(crate) fn read<'a, T: Deserialize<'a>>(
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
pub(crate) fn number(
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

/// A whole number above 0; `None` for null.
pub(crate) fn positive(field: &str, raw: &RawValue) -> Result<Option<u32>, Invalid> {
    match read::<u64>(field, raw, "a whole number above 0")? {
        Some(0) => Err(Invalid::new(field, "0 is not a whole number above 0")),
        value => Ok(value.map(|value| value.min(u64::from(u32::MAX)) as u32)),
    }
}

/// A value that is refused unless it says nothing.
pub(crate) fn refuse(field: &str, raw: &RawValue, way_out: &str) -> Result<(), Invalid> {
    if is_idle(raw) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{} is not supported; {way_out}", excerpt(raw))))
}

/// The value as it was sent, shortened for a message.
pub(crate) fn excerpt(raw: &RawValue) -> String {
    let text = raw.get();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
