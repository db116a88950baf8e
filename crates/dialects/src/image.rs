//! Images as requests carry them.
//!
//! The invariant: only an image that came with the request is taken; nothing is ever fetched. Its type is what its bytes
//! are, whatever the request calls it.

use std::sync::Arc;

use verbatim_chat::{Image, Part};

use crate::Invalid;

/// Characters of a URL that a refusal shows.
const SHOWN: usize = 60;

/// An image by its URL, which must hold it.
pub(crate) fn of_url(field: &str, url: &str) -> Result<Part, Invalid> {
    let refused = |problem: &str| {
        let shown: String = url.chars().take(SHOWN).collect();
        let rest = if shown.len() < url.len() { "…" } else { "" };
        Invalid::new(field, format!("\"{shown}{rest}\" {problem}"))
    };
    let held = url.split_at_checked(5).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("data:"));
    let Some((_, held)) = held else {
        return Err(refused("is not fetched; send the image itself as a data URL: data:image/png;base64,…"));
    };
    let (head, data) =
        held.split_once(',').ok_or_else(|| refused("has no data; send data:image/png;base64,…"))?;
    let (media, encoding) = head.rsplit_once(';').unwrap_or((head, ""));
    if !media.is_empty() && !media.to_ascii_lowercase().starts_with("image/") {
        return Err(refused("holds no image; only images are supported"));
    }
    if !encoding.eq_ignore_ascii_case("base64") {
        return Err(refused("is not base64; send data:image/png;base64,…"));
    }
    of_base64(field, data)
}

/// An image by its bytes in base64.
pub(crate) fn of_base64(field: &str, data: &str) -> Result<Part, Invalid> {
    let bytes = base64_simd::forgiving_decode_to_vec(data.as_bytes());
    let bytes =
        bytes.map_err(|_| Invalid::new(field, "the image is not valid base64; encode its bytes anew"))?;
    let image = Image::read(bytes).map_err(|error| Invalid::new(field, error.to_string()))?;
    Ok(Part::Image(Arc::new(image)))
}
