//! The shape of a model in a GGUF file's metadata.

use candle_core::quantized::gguf_file::{Content, Value};

use super::{Architecture, Config, Pairs, frequencies, setting};
use crate::LoadError;

/// Reads the shape; `factors` are the rotary factors of `rope_freqs.weight`, where the file has it.
pub(crate) fn from_gguf(content: &Content, factors: Option<&[f32]>) -> Result<Config, LoadError> {
    let name = content.metadata.get("general.architecture").and_then(|value| value.to_string().ok());
    let name = name.ok_or_else(|| setting("general.architecture", "text"))?;
    let architecture = Architecture::named(name)?;
    let metadata = Metadata { content, name };

    let hidden = metadata.whole("embedding_length")?;
    let heads = metadata.whole("attention.head_count")?;
    let width = metadata.whole("attention.key_length").unwrap_or(hidden / heads.max(1));
    if metadata.whole("rope.dimension_count").is_ok_and(|rotated| rotated != width) {
        return Err(variant("rope.dimension_count", "not the head's width", "the head's width"));
    }
    if let Some(scaling) = metadata.text("rope.scaling.type")
        && scaling != "none"
    {
        return Err(LoadError::Variant { what: "rope.scaling.type", found: scaling, supported: "none" });
    }
    let theta = metadata.real("rope.freq_base").unwrap_or(10_000.0);
    let mut frequencies = frequencies(theta, width);
    if let Some(factors) = factors {
        frequencies.iter_mut().zip(factors).for_each(|(frequency, factor)| *frequency /= f64::from(*factor));
    }
    let vocabulary = content.tensor_infos.get("token_embd.weight").and_then(|info| info.shape.dims().first());
    Config {
        architecture,
        tied: None,
        hidden,
        layers: metadata.whole("block_count")?,
        heads,
        kv_heads: metadata.whole("attention.head_count_kv").unwrap_or(heads),
        width,
        feed_forward: metadata.whole("feed_forward_length")?,
        vocabulary: *vocabulary.ok_or_else(|| LoadError::NoTensor { name: "token_embd.weight".into() })?,
        context: metadata.whole("context_length")?,
        norm_epsilon: metadata.real("attention.layer_norm_rms_epsilon")? as f32,
        pairs: if architecture == Architecture::Llama { Pairs::Neighbours } else { Pairs::Halves },
        frequencies: frequencies.into_iter().map(|frequency| frequency as f32).collect(),
    }
    .checked()
}

fn variant(what: &'static str, found: &str, supported: &'static str) -> LoadError {
    LoadError::Variant { what, found: found.to_owned(), supported }
}

struct Metadata<'a> {
    content: &'a Content,
    name: &'a str,
}

impl Metadata<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(&format!("{}.{key}", self.name))
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(|value| value.to_string().ok()).cloned()
    }

    fn whole(&self, key: &str) -> Result<usize, LoadError> {
        let value = self.get(key).and_then(|value| value.to_u64().ok());
        value
            .map(|value| value as usize)
            .ok_or_else(|| setting(format!("{}.{key}", self.name), "whole number"))
    }

    fn real(&self, key: &str) -> Result<f64, LoadError> {
        let value = self.get(key).and_then(|value| value.to_f32().ok());
        value.map(f64::from).ok_or_else(|| setting(format!("{}.{key}", self.name), "number"))
    }
}
