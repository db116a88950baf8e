//! Tiny random models in the three architectures, compared with an implementation that only loops.

use std::collections::HashMap;
use std::fs::write;

use safetensors::tensor::{Dtype, TensorView};
use tempfile::TempDir;
use verbatim_engine::Engine;
use verbatim_engine_embedded::{EmbeddedEngine, LoadError, Options};
use verbatim_tokens::TokenId;

use crate::naive;
use crate::reply::gap;

pub(crate) const VOCABULARY: usize = 60;
pub(crate) const HIDDEN: usize = 64;
pub(crate) const LAYERS: usize = 3;
pub(crate) const HEADS: usize = 4;
pub(crate) const KV_HEADS: usize = 2;
pub(crate) const INNER: usize = 96;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Llama,
    Qwen2,
    Qwen3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }

    /// Numbers a head: qwen3's need not divide the hidden size.
    pub(crate) fn width(self) -> usize {
        if self == Self::Qwen3 { 20 } else { 16 }
    }

    fn tied(self) -> bool {
        self != Self::Llama
    }
}

/// Tensors by name.
pub(crate) type Tensors = HashMap<String, (Vec<usize>, Vec<f32>)>;

/// The same random weights each time.
pub(crate) fn tensors(kind: Kind) -> Tensors {
    let mut state = 12345u32;
    let mut random = |count: usize, size: f32, middle: f32| -> Vec<f32> {
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            middle + size * ((state >> 8) as f32 / (1 << 23) as f32 - 1.0)
        };
        std::iter::repeat_with(next).take(count).collect()
    };
    let (queries, keys) = (HEADS * kind.width(), KV_HEADS * kind.width());
    let mut all = Tensors::new();
    let mut put = |name: String, shape: &[usize], size: f32, middle: f32| {
        all.insert(name, (shape.to_vec(), random(shape.iter().product(), size, middle)));
    };
    put("model.embed_tokens.weight".into(), &[VOCABULARY, HIDDEN], 1.0, 0.0);
    put("model.norm.weight".into(), &[HIDDEN], 0.3, 1.0);
    if !kind.tied() {
        put("lm_head.weight".into(), &[VOCABULARY, HIDDEN], 0.3, 0.0);
    }
    for layer in 0..LAYERS {
        let mut at = |name: &str, shape: &[usize], size, middle| {
            put(format!("model.layers.{layer}.{name}"), shape, size, middle);
        };
        at("input_layernorm.weight", &[HIDDEN], 0.3, 1.0);
        at("post_attention_layernorm.weight", &[HIDDEN], 0.3, 1.0);
        for (name, outputs) in [("q", queries), ("k", keys), ("v", keys)] {
            at(&format!("self_attn.{name}_proj.weight"), &[outputs, HIDDEN], 0.25, 0.0);
            if kind == Kind::Qwen2 {
                at(&format!("self_attn.{name}_proj.bias"), &[outputs], 0.5, 0.0);
            }
        }
        if kind == Kind::Qwen3 {
            at("self_attn.q_norm.weight", &[kind.width()], 0.3, 1.0);
            at("self_attn.k_norm.weight", &[kind.width()], 0.3, 1.0);
        }
        at("self_attn.o_proj.weight", &[HIDDEN, queries], 0.25, 0.0);
        at("mlp.gate_proj.weight", &[INNER, HIDDEN], 0.25, 0.0);
        at("mlp.up_proj.weight", &[INNER, HIDDEN], 0.25, 0.0);
        at("mlp.down_proj.weight", &[HIDDEN, INNER], 0.25, 0.0);
    }
    all
}

/// A folder as Hugging Face lays it out; llama's is cut into two shards.
pub(crate) fn folder(kind: Kind) -> TempDir {
    folder_of(kind, &tensors(kind))
}

/// The same with these weights.
pub(crate) fn folder_of(kind: Kind, tensors: &Tensors) -> TempDir {
    let folder = TempDir::new().unwrap();
    let config = serde_json::json!({
        "model_type": kind.name(), "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": kind.width(),
        "intermediate_size": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": 1_000_000,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
        "tie_word_embeddings": kind.tied(), "eos_token_id": [2, 3], "bos_token_id": 1,
    });
    write(folder.path().join("config.json"), config.to_string()).unwrap();
    write(folder.path().join("tokenizer.json"), "{}").unwrap();
    let view = |shard: Option<usize>| {
        let names = tensors.iter().filter(move |(name, _)| shard.is_none_or(|shard| name.len() % 2 == shard));
        let bytes: Vec<_> = names
            .map(|(name, (shape, values))| {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                (name.clone(), shape.clone(), bytes)
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
        safetensors::serialize(views, None).unwrap()
    };
    if kind == Kind::Llama {
        let file = |shard: usize| format!("model-{shard}.safetensors");
        (0..2).for_each(|shard| write(folder.path().join(file(shard)), view(Some(shard))).unwrap());
        let map: HashMap<_, _> = tensors.keys().map(|name| (name, file(name.len() % 2))).collect();
        let index = serde_json::json!({ "weight_map": map });
        write(folder.path().join("model.safetensors.index.json"), index.to_string()).unwrap();
    } else {
        write(folder.path().join("model.safetensors"), view(None)).unwrap();
    }
    folder
}

#[tokio::test]
async fn every_architecture_agrees_with_plain_loops() {
    let ids: Vec<u32> = (0..50).map(|at| at * 17 % VOCABULARY as u32).collect();
    for kind in [Kind::Llama, Kind::Qwen2, Kind::Qwen3] {
        let folder = folder(kind);
        let options = Options { chunk: 23, ..Options::default() };
        let (engine, source) = EmbeddedEngine::load(folder.path(), options).unwrap();
        assert_eq!((source.bos, source.eos), (Some(TokenId(1)), vec![TokenId(2), TokenId(3)]));
        assert_eq!(source.tokenizer_json, b"{}");
        let scores = engine.score().unwrap().score(TokenId::wrap(&ids).to_vec(), 0).await.unwrap();
        let scores: Vec<_> = scores[1..].iter().map(|score| score.unwrap()).collect();
        let gap = gap(&scores, &naive::scores(kind, &tensors(kind), &ids));
        assert!(gap < 1e-4, "{kind:?} differs by {gap}");
    }
}

#[test]
fn a_missing_tensor_is_named() {
    let folder = folder(Kind::Qwen2);
    let config = std::fs::read_to_string(folder.path().join("config.json")).unwrap();
    let load = || EmbeddedEngine::load(folder.path(), Options::default()).err().unwrap();
    write(folder.path().join("config.json"), config.replace("qwen2", "qwen3")).unwrap();
    assert!(
        matches!(load(), LoadError::NoTensor { name } if name == "model.layers.0.self_attn.q_norm.weight")
    );
    write(folder.path().join("config.json"), config.replace("\"vocab_size\":60", "\"vocab_size\":61"))
        .unwrap();
    assert!(matches!(load(), LoadError::Shape { expected, .. } if expected == [61, HIDDEN]));
    write(folder.path().join("config.json"), config.replace("qwen2", "gpt_oss")).unwrap();
    assert!(matches!(load(), LoadError::Architecture { found } if found == "gpt_oss"));
}

#[test]
fn what_is_no_model_is_refused() {
    let folder = TempDir::new().unwrap();
    let load =
        |name: &str| EmbeddedEngine::load(&folder.path().join(name), Options::default()).err().unwrap();
    write(folder.path().join("notes.txt"), "hello").unwrap();
    write(folder.path().join("bad.gguf"), "hello").unwrap();
    assert!(matches!(load(""), LoadError::NoModel { .. }));
    assert!(matches!(load("notes.txt"), LoadError::NoModel { .. }));
    assert!(matches!(load("bad.gguf"), LoadError::Gguf { .. }));
    assert!(matches!(load("none.gguf"), LoadError::Read { .. }));
}
