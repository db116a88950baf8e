//! The images of a prompt.
//!
//! The invariant: an engine is shown every image of the lineage at its place, or the turn is refused by name; and every
//! placeholder among the ids that were not sampled is an image's.

use std::sync::Arc;

use verbatim_chat::ImageSpan;
use verbatim_dialects::Invalid;
use verbatim_engine::Capabilities;
use verbatim_events::Observed;
use verbatim_forest::Plan;
use verbatim_tokens::TokenId;

use crate::sessions::Shared;
use crate::{Session, TurnError};

/// All images of a prompt, each at its place among the prompt's ids. A family without vision has none, and nothing is
/// looked at.
pub(crate) fn images(
    shared: &Shared,
    session: &Session,
    plan: &Plan,
    observed: &Observed,
    prompt: &[TokenId],
) -> Result<Arc<[ImageSpan]>, TurnError> {
    let Some(vision) = shared.family.vision() else { return Ok(Arc::default()) };
    let mut images = session.with_forest(|forest| match observed {
        Observed::Shared(node) => forest.images(*node),
        Observed::New { .. } | Observed::Ids(_) => {
            plan.parent.map(|parent| forest.images(parent)).unwrap_or_default()
        }
    });
    match observed {
        Observed::New { messages, ids, images: places, .. } if !places.is_empty() => {
            let before = prompt.len() - ids.len();
            let places = places.iter().map(|place| place.after(before));
            images.extend(ImageSpan::join(messages.iter(), places));
        }
        Observed::Ids(ids) if ids.contains(&vision.pad) => {
            let problem = format!("{} stands for an image, and ids bring none; send messages", vision.pad);
            return Err(Invalid::new("prompt", problem).into());
        }
        _ => {}
    }
    can_be_shown(&images, shared.engine.capabilities())?;
    Ok(images.into())
}

/// Refuses images that the engine would not be shown, or would see otherwise than a trainer.
fn can_be_shown(images: &[ImageSpan], engine: &Capabilities) -> Result<(), Invalid> {
    let name = &engine.engine;
    if !images.is_empty() && !engine.images {
        let problem = format!(
            "hold an image, and this engine ({name}) is shown none beside token ids; serve the model with sglang, or \
             send text"
        );
        return Err(Invalid::new("messages", problem));
    }
    let turned = images.iter().map(|span| span.image.orientation()).find(|orientation| *orientation != 1);
    match turned.filter(|_| !engine.turns_images) {
        None => Ok(()),
        Some(orientation) => {
            let problem = format!(
                "hold an image that its EXIF data turns (orientation {orientation}), which this engine ({name}) does \
                 not; send it upright"
            );
            Err(Invalid::new("messages", problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use verbatim_chat::{Image, ImagePlace};

    use super::*;

    /// PNGs of 60 by 40 pixels, the second one turned by its EXIF data.
    const FILES: [&str; 2] = [
        "iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAOElEQVR42u3OAQ0AAAgDoGv/zprjGyRgkkubTSFpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlp6R4PsiMBT2hvlhsAAAAASUVORK5CYII=",
        "iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAGmVYSWZNTQAqAAAACAABARIAAwAAAAEABgAAAAAAANZnS2kAAAA4SURBVHja7c4BDQAACAOga//OmuMbJGCSS5tNIWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWnpHg+yIwFPaG+WGwAAAABJRU5ErkJggg==",
    ];

    #[test]
    fn an_image_is_refused_that_the_engine_would_not_see_as_a_trainer_does() {
        let [upright, turned] = FILES.map(|file| {
            let image = Image::read(base64_simd::STANDARD.decode_to_vec(file).unwrap()).unwrap();
            let place = ImagePlace { start: 0, length: 6, grid: [1, 4, 6] };
            [ImageSpan { place, image: Arc::new(image) }]
        });
        assert_eq!(turned[0].image.size(), (40, 60));
        let blind = Capabilities::new("x", "m", 9, 9);
        let still = Capabilities { images: true, ..blind.clone() };
        let turning = Capabilities { turns_images: true, ..still.clone() };
        let refused = |images: &[ImageSpan], engine| can_be_shown(images, engine).unwrap_err().to_string();
        assert!(refused(&upright, &blind).contains("this engine (x) is shown none"));
        assert!(refused(&turned, &still).contains("orientation 6"));
        for (images, engine) in [(&[][..], &blind), (&upright, &still), (&turned, &turning)] {
            assert!(can_be_shown(images, engine).is_ok());
        }
    }
}
