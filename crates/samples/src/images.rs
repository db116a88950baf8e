//! A row's images as every format keeps them.
//!
//! The invariant: an image that comes back is the one that was shown, by its hash, and stands at a run of placeholders
//! that were observed.

use std::sync::Arc;

use base64_simd::STANDARD;
use serde::{Deserialize, Serialize};
use verbatim_chat::{Image, ImagePlace, ImageSpan};
use verbatim_tokens::{MaskCause, Runs, TokenId};

/// One image: a list of these, `images`, is the same in all formats.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredImage {
    /// The index of its first placeholder in the row.
    start: usize,
    /// How many placeholders it has.
    length: usize,
    /// Patches in time, down, across.
    grid_thw: [u32; 3],
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    media_type: String,
    /// Of the bytes, in hexadecimal digits.
    sha256: String,
    /// Pixels across, once turned as its EXIF data says.
    width: u32,
    /// Pixels down, likewise.
    height: u32,
    /// The file's bytes in base64.
    data: String,
}

impl StoredImage {
    pub(crate) fn of(span: &ImageSpan) -> Self {
        let ImageSpan { place, image } = span;
        let (width, height) = image.size();
        Self {
            start: place.start,
            length: place.length,
            grid_thw: place.grid,
            media_type: image.media().as_str().to_owned(),
            sha256: image.digest(),
            width,
            height,
            data: STANDARD.encode_to_string(image.bytes()),
        }
    }

    /// The image at its place, if it stands where a row of these tokens shows one.
    pub(crate) fn span(
        self,
        tokens: &[TokenId],
        mask: &Runs<Option<MaskCause>>,
    ) -> Result<ImageSpan, String> {
        let Self { start, length, grid_thw: grid, .. } = self;
        let bytes = STANDARD.decode_to_vec(&self.data).map_err(|_| "an image is no base64".to_owned())?;
        let image = Image::read(bytes).map_err(|error| format!("an image cannot be read: {error}"))?;
        if image.digest() != self.sha256 {
            return Err(format!("an image's bytes have the sha256 {}, not {}", image.digest(), self.sha256));
        }
        let run = start.checked_add(length).and_then(|end| tokens.get(start..end));
        let run = run.filter(|run| run.first().is_some_and(|first| run.iter().all(|id| id == first)));
        if run.is_none() {
            return Err(format!("an image stands at {start}, where {length} placeholders are not"));
        }
        if (start..start + length).any(|at| mask.get(at) != Some(&Some(MaskCause::Observation))) {
            return Err(format!("an image stands at {start}, which was not observed"));
        }
        Ok(ImageSpan { place: ImagePlace { start, length, grid }, image: Arc::new(image) })
    }
}
