//! Weights that take the place of those that were loaded.
//!
//! The invariant: they have the shapes of the first ones. What was computed with those is not used any more.

use std::path::Path;

use crate::config::{Config, Pairs};
use crate::model::Model;
use crate::weights::Folder;
use crate::{LoadError, Precision};

/// What weights must be like.
#[derive(Clone)]
pub(crate) struct Weights {
    pub(crate) config: Config,
    pub(crate) precision: Precision,
}

impl Weights {
    /// Reads a Hugging Face folder's tensors. What its settings say besides is not asked: the model stays what it
    /// is, and only its numbers are others.
    ///
    /// # Errors
    /// [`LoadError`] if a tensor is missing or has another shape.
    pub(crate) fn read(&self, folder: &Path) -> Result<Model, LoadError> {
        // Files of the two kinds order a head's numbers differently.
        let config = Config { pairs: Pairs::Halves, ..self.config.clone() };
        Model::load(config, &mut Folder::open(folder)?, self.precision)
    }
}
