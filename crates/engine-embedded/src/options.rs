//! How a model is held and served. Everything has a default; nothing here is read from the
//! environment (only the number of threads is: `RAYON_NUM_THREADS`).

use verbatim_tokens::Version;

/// How the weights of the linear layers are held. Norms and biases are always f32, and so is every
/// activation, so that both choices keep the crate's invariant.
///
/// Measured on SmolLM2 135M with `examples/speed.rs` on two busy cores with AVX-512, tokens a second:
///
/// | | prompt of 512 | one sequence | eight together |
/// |---|---|---|---|
/// | `F32` | 391 | 32 | 145 |
/// | `Q8` | 429 | 49 | 202 |
///
/// `F32` is what the file says (logprobs within 4e-5 of a computation in f64); `Q8` moves a sampled
/// token's logprob by 0.04 on average, 0.35 at most over 76 tokens. So `Auto` is exact while a model is
/// small, and `Q8` is the faster one throughout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// [`Precision::F32`] below 400 million weights, else [`Precision::Q8`].
    #[default]
    Auto,
    /// Four bytes a weight, exactly what the file says.
    F32,
    /// 1.125 bytes a weight: blocks of 32 along a row share a scale (GGML's Q8_0). Whatever
    /// quantisation the file has is converted at load, as its values allow.
    Q8,
}

impl Precision {
    /// Replaces [`Precision::Auto`] by what it means for a model of `weights` weights.
    pub(crate) fn resolve(self, weights: usize) -> Self {
        match self {
            Self::Auto if weights < 400_000_000 => Self::F32,
            Self::Auto => Self::Q8,
            chosen => chosen,
        }
    }
}

/// How to load and serve a model.
#[derive(Clone, Debug)]
pub struct Options {
    /// How weights are held.
    pub precision: Precision,
    /// The served model's name; `None` takes it from the file.
    pub name: Option<String>,
    /// The policy version that the first tokens carry.
    pub version: Version,
    /// Sequences that are stepped together; more wait in line.
    pub max_batch: usize,
    /// Prompt tokens a step reads at most, over all sequences. An abort and another session's next
    /// token wait no longer than such a step.
    pub chunk: usize,
    /// Upper limit on prompt and reply together, in tokens; `None` takes the model's own.
    pub max_context: Option<usize>,
    /// Bytes that the prefixes of sequences that are over may hold; the least recently used go first.
    /// Running sequences come on top of it.
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            precision: Precision::Auto,
            name: None,
            version: Version::new("0"),
            max_batch: 16,
            chunk: 64,
            max_context: None,
            cache_bytes: 1 << 30,
        }
    }
}
