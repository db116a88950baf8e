//! Building a model from a file's tensors.

use super::Model;
use super::layer::{Layer, Linear};
use crate::config::{Architecture, Config};
use crate::kernel::{Isa, Matrix};
use crate::weights::{self, Part, Tensors};
use crate::{LoadError, Precision};

impl Model {
    /// Reads and packs every tensor that `config` asks for.
    ///
    /// # Errors
    /// [`LoadError`] if a tensor is missing, has another shape or cannot be read.
    pub(crate) fn load(
        config: Config,
        tensors: &mut dyn Tensors,
        precision: Precision,
    ) -> Result<Self, LoadError> {
        let isa = Isa::detect();
        let quantise = precision.resolve(config.weights()) == Precision::Q8;
        let mut loader = Loader { config: &config, tensors, isa, quantise };
        let shape = [config.vocabulary, config.hidden];
        let embedding = loader.tensors.get(weights::EMBEDDING, None, &shape)?;
        let pack = |values: &[f32]| Matrix::new(isa, values, config.vocabulary, config.hidden, quantise);
        let embedding = pack(&embedding);
        let head = match config.tied {
            Some(true) => None,
            Some(false) => Some(pack(&loader.tensors.get(weights::HEAD, None, &shape)?)),
            None => loader.tensors.find(weights::HEAD, None, "weight", &shape)?.map(|values| pack(&values)),
        };
        let norm = loader.tensors.get(weights::NORM, None, &[config.hidden])?;
        let layers = (0..config.layers).map(|layer| loader.layer(layer)).collect::<Result<_, _>>()?;
        Ok(Self { isa, embedding, layers, norm, head, config })
    }
}

impl Config {
    /// How many weights the linear layers hold.
    fn weights(&self) -> usize {
        let attention = 2 * (self.heads + self.kv_heads) * self.width;
        self.hidden * (self.vocabulary + self.layers * (attention + 3 * self.feed_forward))
    }
}

struct Loader<'a> {
    config: &'a Config,
    tensors: &'a mut dyn Tensors,
    isa: Isa,
    quantise: bool,
}

impl Loader<'_> {
    fn layer(&mut self, at: usize) -> Result<Layer, LoadError> {
        let Config { hidden, heads, kv_heads, width, feed_forward, .. } = *self.config;
        let (queries, keys) = (heads * width, kv_heads * width);
        let head_norms = if self.config.architecture == Architecture::Qwen3 {
            let queries = self.tensors.get(weights::QUERY_NORM, Some(at), &[width])?;
            Some((queries, self.tensors.get(weights::KEY_NORM, Some(at), &[width])?))
        } else {
            None
        };
        Ok(Layer {
            attention_norm: self.tensors.get(weights::ATTENTION_NORM, Some(at), &[hidden])?,
            queries_keys_values: self.linear(
                at,
                hidden,
                &[(weights::QUERY, queries), (weights::KEY, keys), (weights::VALUE, keys)],
            )?,
            head_norms,
            attention_out: self.linear(at, queries, &[(weights::ATTENTION_OUT, hidden)])?,
            feed_norm: self.tensors.get(weights::FEED_NORM, Some(at), &[hidden])?,
            gate_up: self.linear(
                at,
                hidden,
                &[(weights::GATE, feed_forward), (weights::UP, feed_forward)],
            )?,
            down: self.linear(at, feed_forward, &[(weights::DOWN, hidden)])?,
        })
    }

    /// Several layers that read the same input, one under the other.
    fn linear(&mut self, layer: usize, inputs: usize, parts: &[(Part, usize)]) -> Result<Linear, LoadError> {
        let (mut rows, mut bias, mut biased) = (Vec::new(), Vec::new(), false);
        for (part, outputs) in parts {
            rows.extend(self.tensors.get(*part, Some(layer), &[*outputs, inputs])?);
            match self.tensors.find(*part, Some(layer), "bias", &[*outputs])? {
                Some(values) => {
                    biased = true;
                    bias.extend(values);
                }
                None if self.config.architecture == Architecture::Qwen2 && parts.len() == 3 => {
                    return Err(self.tensors.missing(*part, Some(layer), "bias"));
                }
                None => bias.resize(bias.len() + outputs, 0.0),
            }
        }
        let outputs = bias.len();
        let matrix = Matrix::new(self.isa, &rows, outputs, inputs, self.quantise);
        Ok(Linear { matrix, bias: biased.then_some(bias) })
    }
}
