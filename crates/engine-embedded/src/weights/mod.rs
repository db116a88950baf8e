//! Tensors by what they are for, whatever file they lie in.
//!
//! The invariant: a tensor comes out row-major in f32 with the shape that was asked for, or not at
//! all.

mod folder;
mod gguf;

pub(crate) use folder::Folder;
pub(crate) use gguf::Gguf;

use crate::LoadError;

/// What a tensor is for, and its name in each format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    gguf: &'static str,
    folder: &'static str,
}

const fn part(gguf: &'static str, folder: &'static str) -> Part {
    Part { gguf, folder }
}

pub(crate) const EMBEDDING: Part = part("token_embd", "model.embed_tokens");
pub(crate) const NORM: Part = part("output_norm", "model.norm");
pub(crate) const HEAD: Part = part("output", "lm_head");
pub(crate) const ATTENTION_NORM: Part = part("attn_norm", "input_layernorm");
pub(crate) const QUERY: Part = part("attn_q", "self_attn.q_proj");
pub(crate) const KEY: Part = part("attn_k", "self_attn.k_proj");
pub(crate) const VALUE: Part = part("attn_v", "self_attn.v_proj");
pub(crate) const QUERY_NORM: Part = part("attn_q_norm", "self_attn.q_norm");
pub(crate) const KEY_NORM: Part = part("attn_k_norm", "self_attn.k_norm");
pub(crate) const ATTENTION_OUT: Part = part("attn_output", "self_attn.o_proj");
pub(crate) const FEED_NORM: Part = part("ffn_norm", "post_attention_layernorm");
pub(crate) const GATE: Part = part("ffn_gate", "mlp.gate_proj");
pub(crate) const UP: Part = part("ffn_up", "mlp.up_proj");
pub(crate) const DOWN: Part = part("ffn_down", "mlp.down_proj");

/// Numbers, row-major.
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// A file or folder of tensors.
pub(crate) trait Tensors: Send {
    /// The full name of a part, of layer `layer` if it belongs to one; `kind` is `weight` or `bias`.
    fn name(&self, part: Part, layer: Option<usize>, kind: &str) -> String;

    /// The tensor of this name, if there is one.
    fn read(&mut self, name: &str) -> Result<Option<Tensor>, LoadError>;

    /// A part's weights, if there are any, of exactly this shape.
    fn find(
        &mut self,
        part: Part,
        layer: Option<usize>,
        kind: &str,
        shape: &[usize],
    ) -> Result<Option<Vec<f32>>, LoadError> {
        let name = self.name(part, layer, kind);
        match self.read(&name)? {
            Some(Tensor { shape: found, .. }) if found != shape => {
                Err(LoadError::Shape { name, found, expected: shape.to_vec() })
            }
            other => Ok(other.map(|tensor| tensor.values)),
        }
    }

    /// A part's weights, which must be there.
    fn get(&mut self, part: Part, layer: Option<usize>, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
        let found = self.find(part, layer, "weight", shape)?;
        found.ok_or_else(|| self.missing(part, layer, "weight"))
    }

    /// The error for a part that is not there.
    fn missing(&self, part: Part, layer: Option<usize>, kind: &str) -> LoadError {
        LoadError::NoTensor { name: self.name(part, layer, kind) }
    }
}
