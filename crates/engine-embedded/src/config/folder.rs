//! The shape of a model in a Hugging Face folder's `config.json`.

use serde::Deserialize;

use super::{Architecture, Config, Pairs, frequencies, setting};
use crate::LoadError;

#[derive(Deserialize)]
struct File {
    model_type: Option<String>,
    hidden_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: Option<usize>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    rms_norm_eps: Option<f64>,
    rope_theta: Option<f64>,
    hidden_act: Option<String>,
    tie_word_embeddings: Option<bool>,
    #[serde(default)]
    use_sliding_window: bool,
    rope_scaling: Option<Rope>,
    /// Where transformers 5 keeps both theta and scaling.
    rope_parameters: Option<Rope>,
}

#[derive(Deserialize)]
struct Rope {
    #[serde(alias = "type")]
    rope_type: Option<String>,
    rope_theta: Option<f64>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
}

/// Reads the shape from the text of `config.json`.
pub(crate) fn from_folder(path: &std::path::Path, text: &str) -> Result<Config, LoadError> {
    let file: File =
        serde_json::from_str(text).map_err(|source| LoadError::Json { path: path.to_owned(), source })?;
    let architecture = file.model_type.as_deref().ok_or_else(|| setting("model_type", "text"))?;
    let architecture = Architecture::named(architecture)?;
    if let Some(found) = file.hidden_act.filter(|act| act != "silu") {
        return Err(LoadError::Variant { what: "hidden_act", found, supported: "silu" });
    }
    if file.use_sliding_window {
        return Err(LoadError::Variant {
            what: "use_sliding_window",
            found: "true".into(),
            supported: "false",
        });
    }
    let whole = |value: Option<usize>, key: &str| value.ok_or_else(|| setting(key, "whole number"));
    let hidden = whole(file.hidden_size, "hidden_size")?;
    let heads = whole(file.num_attention_heads, "num_attention_heads")?;
    let width = file.head_dim.unwrap_or(hidden / heads.max(1));
    let rope = file.rope_parameters.or(file.rope_scaling);
    let theta = file.rope_theta.or(rope.as_ref().and_then(|rope| rope.rope_theta)).unwrap_or(10_000.0);
    let mut frequencies = frequencies(theta, width);
    if let Some(rope) = rope {
        rope.scale(&mut frequencies)?;
    }
    Config {
        architecture,
        tied: file.tie_word_embeddings,
        hidden,
        layers: whole(file.num_hidden_layers, "num_hidden_layers")?,
        heads,
        kv_heads: file.num_key_value_heads.unwrap_or(heads),
        width,
        feed_forward: whole(file.intermediate_size, "intermediate_size")?,
        vocabulary: whole(file.vocab_size, "vocab_size")?,
        context: whole(file.max_position_embeddings, "max_position_embeddings")?,
        norm_epsilon: file.rms_norm_eps.ok_or_else(|| setting("rms_norm_eps", "number"))? as f32,
        pairs: Pairs::Halves,
        frequencies: frequencies.into_iter().map(|frequency| frequency as f32).collect(),
    }
    .checked()
}

impl Rope {
    fn scale(&self, frequencies: &mut [f64]) -> Result<(), LoadError> {
        let number =
            |value: Option<f64>, key: &str| value.ok_or_else(|| setting(format!("rope {key}"), "number"));
        match self.rope_type.as_deref().unwrap_or("default") {
            "default" => Ok(()),
            "linear" => {
                let factor = number(self.factor, "factor")?;
                frequencies.iter_mut().for_each(|frequency| *frequency /= factor);
                Ok(())
            }
            "llama3" => {
                let factor = number(self.factor, "factor")?;
                let low = number(self.low_freq_factor, "low_freq_factor")?;
                let high = number(self.high_freq_factor, "high_freq_factor")?;
                let context =
                    number(self.original_max_position_embeddings, "original_max_position_embeddings")?;
                for frequency in frequencies {
                    let turns = context * *frequency / std::f64::consts::TAU;
                    // Fast pairs stay, slow ones stretch, those between are blended.
                    let keep = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                    *frequency *= keep + (1.0 - keep) / factor;
                }
                Ok(())
            }
            other => Err(LoadError::Variant {
                what: "rope_type",
                found: other.to_owned(),
                supported: "default, linear or llama3",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#""hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"intermediate_size":8,
        "vocab_size":10,"max_position_embeddings":99,"rms_norm_eps":1e-6"#;

    fn read(rest: &str) -> Result<Config, LoadError> {
        from_folder("config.json".as_ref(), &format!("{{{BASE},{rest}}}"))
    }

    #[test]
    fn other_architectures_are_refused_by_name() {
        let message = read(r#""model_type":"mamba""#).unwrap_err().to_string();
        assert_eq!(message, r#"architecture "mamba" is not supported; supported are llama, qwen2 and qwen3"#);
    }

    #[test]
    fn variants_are_refused_by_name() {
        assert!(read(r#""model_type":"qwen2","use_sliding_window":true"#).is_err());
        assert!(read(r#""model_type":"llama","hidden_act":"gelu""#).is_err());
        assert!(read(r#""model_type":"llama","rope_scaling":{"type":"yarn","factor":4}"#).is_err());
    }

    #[test]
    fn llama3_scaling_keeps_fast_pairs_and_stretches_slow_ones() {
        let plain = read(r#""model_type":"llama","rope_theta":500000"#).unwrap().frequencies;
        let scaled = read(
            r#""model_type":"llama","rope_theta":500000,"rope_scaling":{"rope_type":"llama3","factor":8,
            "low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":8192}"#,
        );
        let scaled = scaled.unwrap().frequencies;
        assert_eq!(scaled[0], plain[0]);
        assert!((scaled[7] * 8.0 / plain[7] - 1.0).abs() < 1e-6);
    }
}
