//! Floats as CPython's `repr` spells them.

/// The shortest digits that read back as `value`, in Python's notation: fixed between 1e-4 and
/// 1e16, else with a signed exponent of at least two digits. `json.dumps` has names of its own for
/// what is not finite.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    let scientific = shortest(value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let whole = usize::try_from(exponent + 1).unwrap_or(0);
    let body = if (-4..0).contains(&exponent) {
        format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1))
    } else if (0..16).contains(&exponent) && digits.len() <= whole {
        format!("{digits}{}.0", "0".repeat(whole - digits.len()))
    } else if (0..16).contains(&exponent) {
        format!("{}.{}", &digits[..whole], &digits[whole..])
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    };
    format!("{sign}{body}")
}

/// The shortest digits, in scientific notation. Where two of a length are equally near, CPython
/// takes the even one; the standard library rounds so only when it is told how many to give.
fn shortest(value: f64) -> String {
    let shortest = format!("{value:e}");
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let decimals = mantissa.len().saturating_sub(2);
    let even = format!("{value:.decimals$e}");
    if even.parse() == Ok(value) { even } else { shortest }
}
