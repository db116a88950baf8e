//! The decoder: ids in, logits out.
//!
//! The invariant: a row's logits depend on its own sequence up to that row. Linear layers see all
//! rows of a pass at once, attention sees one sequence at a time, and neither lets rows meet.

mod forward;
mod layer;
mod load;
mod logprobs;
mod rope;

pub(crate) use forward::{Feed, Logits};
pub(crate) use logprobs::LogSoftmax;

use crate::cache::Layout;
use crate::config::Config;
use crate::kernel::{Isa, Matrix};
use layer::Layer;

/// A loaded model. It holds no state: sequences are the caller's.
pub(crate) struct Model {
    config: Config,
    isa: Isa,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// `None` where the embedding serves as head too.
    head: Option<Matrix>,
}

impl Model {
    pub(crate) fn vocabulary(&self) -> usize {
        self.config.vocabulary
    }

    /// The longest sequence the model was made for.
    pub(crate) fn context(&self) -> usize {
        self.config.context
    }

    /// How its keys and values are kept.
    pub(crate) fn layout(&self) -> Layout {
        Layout { layers: self.config.layers, kv_heads: self.config.kv_heads, width: self.config.width }
    }

    /// Bytes of all linear layers.
    pub(crate) fn bytes(&self) -> usize {
        let layers: usize = self.layers.iter().map(Layer::bytes).sum();
        layers + self.embedding.bytes() + self.head.as_ref().map_or(0, Matrix::bytes)
    }
}
