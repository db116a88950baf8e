//! Where images stand among ids.
//!
//! The invariant: places are in the order of the images of the messages that they belong to, one an image, and do not
//! overlap.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Image, Message};

/// The place of an image: a run of placeholder ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImagePlace {
    /// The index of its first placeholder.
    pub start: usize,
    /// How many placeholders it has.
    pub length: usize,
    /// Its patches: in time, down, across.
    pub grid: [u32; 3],
}

/// An image with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSpan {
    /// Where.
    pub place: ImagePlace,
    /// What.
    pub image: Arc<Image>,
}

impl ImagePlace {
    /// The index after its last placeholder.
    pub fn end(&self) -> usize {
        self.start + self.length
    }

    /// The place among ids that `by` others come before.
    #[must_use]
    pub fn after(self, by: usize) -> Self {
        Self { start: self.start + by, ..self }
    }
}

impl ImageSpan {
    /// The images of messages at their places.
    pub fn join<'a>(
        messages: impl IntoIterator<Item = &'a Arc<Message>>,
        places: impl IntoIterator<Item = ImagePlace>,
    ) -> impl Iterator<Item = Self> {
        let images = messages.into_iter().flat_map(|message| message.content.images());
        images.zip(places).map(|((_, image), place)| Self { place, image: Arc::clone(image) })
    }
}
