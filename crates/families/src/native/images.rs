//! Which images a native family shows.
//!
//! The invariant: an image that would not reach the model is refused before anything is rendered, with the message that
//! holds it.

use verbatim_chat::{Image, Message, Role};
use verbatim_tokenizer::Tokenizer;

use super::{Format, Native};
use crate::load::Pixels;
use crate::{FamilyError, Patches, RenderError, Vision};

/// What stands around an image, and what stands for it.
pub(super) const VISION: [&str; 3] = ["<|vision_start|>", "<|image_pad|>", "<|vision_end|>"];

/// How images are shown; `None` where the format has no place for them or the vocabulary lacks their tokens.
pub(super) fn vision(
    format: &dyn Format,
    tokenizer: &dyn Tokenizer,
    pixels: &Pixels,
) -> Result<Option<Vision>, FamilyError> {
    let known = VISION.iter().all(|token| tokenizer.special(token).is_some());
    let patches = format.patches().filter(|_| known);
    let Some((patches, pad)) = patches.zip(tokenizer.special(VISION[1])) else {
        return pixels.unused(format.table().name).map(|()| None);
    };
    let patches = Patches {
        min_pixels: pixels.min.unwrap_or(patches.min_pixels),
        max_pixels: pixels.max.unwrap_or(patches.max_pixels),
        ..patches
    };
    if patches.min_pixels == 0 || patches.min_pixels > patches.max_pixels {
        let Patches { min_pixels, max_pixels, .. } = patches;
        let reason =
            format!("min_pixels {min_pixels} must be above 0 and no more than max_pixels {max_pixels}");
        return Err(FamilyError::Template { reason });
    }
    Ok(Some(Vision { pad, patches }))
}

impl Native {
    /// Refuses images where none can be shown.
    pub(super) fn sees(&self, messages: &[Message]) -> Result<(), RenderError> {
        let Some((at, message)) = messages.iter().enumerate().find(|(_, message)| {
            message.content.has_images()
                && (self.vision.is_none() || !matches!(message.role, Role::User | Role::Tool))
        }) else {
            return Ok(());
        };
        if self.vision.is_none() {
            return Err(self.blind(at));
        }
        Err(self.unshown(
            at,
            format!("an image in a {} message", message.role),
            "show it in a user's message",
        ))
    }

    /// An image where the model reads none.
    pub(super) fn blind(&self, message: usize) -> RenderError {
        self.unshown(
            message,
            "an image".into(),
            "send its text, or serve a model that reads images (qwen25vl, qwen35)",
        )
    }

    /// An image that no image processor takes.
    pub(super) fn too_long(&self, image: &Image, message: usize) -> RenderError {
        let (width, height) = image.size();
        let what = format!("an image of {width} x {height} pixels");
        self.unshown(message, what, "its longer side may be 200 times the shorter one: cut it")
    }

    fn unshown(&self, message: usize, what: String, way_out: &str) -> RenderError {
        let family = self.table.name.to_owned();
        RenderError::Image { message, what, family, way_out: way_out.to_owned() }
    }
}
