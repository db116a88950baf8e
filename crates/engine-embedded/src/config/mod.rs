//! What a model file says of the model's shape.
//!
//! The invariant: a [`Config`] describes exactly what the file asks for; a setting that this crate
//! would have to ignore is refused by name.

mod folder;
mod gguf;

pub(crate) use folder::from_folder;
pub(crate) use gguf::from_gguf;

use crate::LoadError;

/// The supported architectures: qwen2 has biases on queries, keys and values, qwen3 norms on the
/// heads of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    Llama,
    Qwen2,
    Qwen3,
}

impl Architecture {
    fn named(name: &str) -> Result<Self, LoadError> {
        match name {
            "llama" => Ok(Self::Llama),
            "qwen2" => Ok(Self::Qwen2),
            "qwen3" => Ok(Self::Qwen3),
            _ => Err(LoadError::Architecture { found: name.to_owned() }),
        }
    }
}

/// Which numbers of a head rotate together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// 0 and 1, 2 and 3, …: the order that GGUF's llama files are permuted to.
    Neighbours,
    /// The first of each half, the second of each half, …
    Halves,
}

/// A model's shape.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) architecture: Architecture,
    /// Whether the embedding is the head too; `None` leaves it to whether there is a head.
    pub(crate) tied: Option<bool>,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    /// Numbers a head.
    pub(crate) width: usize,
    pub(crate) feed_forward: usize,
    pub(crate) vocabulary: usize,
    pub(crate) context: usize,
    pub(crate) norm_epsilon: f32,
    pub(crate) pairs: Pairs,
    /// Angle a position for each pair, `[width / 2]`.
    pub(crate) frequencies: Vec<f32>,
}

impl Config {
    /// Refuses shapes that no weights could have.
    fn checked(self) -> Result<Self, LoadError> {
        let Self { hidden, heads, kv_heads, width, feed_forward, vocabulary, .. } = self;
        if [hidden, heads, kv_heads, width, feed_forward, vocabulary].contains(&0) {
            let found = format!("{hidden}, {heads}, {kv_heads}, {width}, {feed_forward}, {vocabulary}");
            let what = "one of the sizes (hidden, heads, key heads, head, feed-forward, vocabulary)";
            return Err(LoadError::Variant { what, found, supported: "at least 1 each" });
        }
        if !heads.is_multiple_of(kv_heads) {
            let found = format!("{heads} for {kv_heads} heads of keys");
            return Err(LoadError::Variant { what: "number of heads", found, supported: "a multiple" });
        }
        if !width.is_multiple_of(2) {
            return Err(LoadError::Variant {
                what: "width of a head",
                found: width.to_string(),
                supported: "even",
            });
        }
        Ok(self)
    }
}

/// `theta^(-2i / width)` for each pair.
fn frequencies(theta: f64, width: usize) -> Vec<f64> {
    (0..width / 2).map(|pair| theta.powf(-2.0 * pair as f64 / width as f64)).collect()
}

fn setting(key: impl Into<String>, expected: &'static str) -> LoadError {
    LoadError::Setting { key: key.into(), expected }
}
