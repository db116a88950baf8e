//! Vocabularies, templates and families, each loaded once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Map, Value};
use verbatim_families::{Family, load};
use verbatim_tokenizer::{HfTokenizer, Piece, SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

use crate::gguf;

fn read(name: &str, file: &str) -> Vec<u8> {
    let cache = std::env::var_os("VERBATIM_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache"), PathBuf::from);
    let path = cache.join("assets").join(name).join(file);
    std::fs::read(path).unwrap_or_else(|e| panic!("{name}/{file}: {e}; run `python3 tools/fetch.py {name}`"))
}

fn tokenizer(json: &[u8]) -> Arc<dyn Tokenizer> {
    Arc::new(HfTokenizer::from_json(json).unwrap())
}

fn official(name: &str) -> String {
    let config: Value = serde_json::from_slice(&read(name, "tokenizer_config.json")).unwrap();
    config["chat_template"].as_str().unwrap().to_owned()
}

/// A family over a vocabulary.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    pub(crate) tokenizer: Arc<dyn Tokenizer>,
    pub(crate) family: Arc<dyn Family>,
}

/// A model whose official template comes with its vocabulary.
pub(crate) struct Official {
    model: &'static Model,
    pub(crate) template: String,
}

impl std::ops::Deref for Official {
    type Target = Model;
    fn deref(&self) -> &Model {
        self.model
    }
}

fn model(name: &'static str, tokenizer: Arc<dyn Tokenizer>) -> Model {
    let family = load(name, Arc::clone(&tokenizer), None, &Map::new()).unwrap();
    Model { name, tokenizer, family }
}

/// The special tokens of the families that have a surrogate.
static SURROGATES: LazyLock<Value> = LazyLock::new(|| {
    let path = format!("{}/tests/goldens/surrogates.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

/// The shortened vocabulary with the family's special tokens after it, as `tools/goldens` has it.
fn surrogate(name: &str) -> Arc<dyn Tokenizer> {
    let mut config: Value = serde_json::from_slice(&read("surrogate", "tokenizer.json")).unwrap();
    let tokens = &*SURROGATES;
    let known = config["model"]["vocab"].as_object().unwrap().len();
    let of = |kind: &str| tokens[name][kind].as_array().unwrap_or_else(|| panic!("{name} {kind}")).clone();
    let all = of("control").into_iter().map(|token| (token, true));
    let all = all.chain(of("markers").into_iter().map(|token| (token, false)));
    let added = all.enumerate().map(
        |(at, (token, special))| serde_json::json!({"id": known + at, "content": token, "special": special}),
    );
    config["added_tokens"] = added.collect();
    tokenizer(config.to_string().as_bytes())
}

/// Each native family over its own vocabulary where a package has it, else over a surrogate. One is
/// loaded when a test asks for it.
pub(crate) fn family(name: &'static str) -> &'static Model {
    static LOADED: Mutex<BTreeMap<&str, &'static Model>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap();
    loaded.entry(name).or_insert_with(|| {
        let tokenizer = match name {
            "qwen3" | "qwennext" => tokenizer(&read("tokenizer-qwen3", "tokenizer.json")),
            "deepseekv32" | "deepseekv4" => tokenizer(&read("tokenizer-deepseek-v4", "tokenizer.json")),
            "qwen25" | "qwen25vl" => tokenizer(&read("tokenizer-qwen25", "tokenizer.json")),
            "qwen35" | "qwen36" => tokenizer(&read("tokenizer-qwen35", "tokenizer.json")),
            "gemma3" => tokenizer(&read("tokenizer-gemma3", "tokenizer.json")),
            "gptoss" => tokenizer(&read("tokenizer-gptoss", "tokenizer.json")),
            "llama3" => tokenizer(&read("tokenizer-llama32", "tokenizer.json")),
            "mistral" => tokenizer(&read("tokenizer-mistral-nemo", "tokenizer.json")),
            "smollm2" => tokenizer(gguf::smollm2(&read("smollm2-135m-instruct", "model.gguf")).0.as_bytes()),
            name => surrogate(name),
        };
        Box::leak(Box::new(model(name, tokenizer)))
    })
}

/// The family over its surrogate where it has one: what is drawn at random needs no more, and is
/// loaded in a tenth of the time.
pub(crate) fn quick(name: &'static str) -> &'static Model {
    if SURROGATES.get(name).is_none() {
        return family(name);
    }
    static LOADED: Mutex<BTreeMap<&str, &'static Model>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap();
    loaded.entry(name).or_insert_with(|| Box::leak(Box::new(model(name, surrogate(name)))))
}

pub(crate) static QWEN3: LazyLock<Official> =
    LazyLock::new(|| Official { model: family("qwen3"), template: official("tokenizer-qwen3") });

pub(crate) static QWEN25: LazyLock<Official> =
    LazyLock::new(|| Official { model: family("qwen25"), template: official("tokenizer-qwen25") });

pub(crate) static SMOLLM2: LazyLock<Official> = LazyLock::new(|| {
    let template = gguf::smollm2(&read("smollm2-135m-instruct", "model.gguf")).1;
    Official { model: family("smollm2"), template }
});

/// The families with Hermes' calls.
pub(crate) fn models() -> [&'static Official; 3] {
    [&QWEN3, &QWEN25, &SMOLLM2]
}

impl Model {
    /// The text of ids.
    pub(crate) fn spell(&self, ids: &[TokenId]) -> String {
        self.tokenizer.text(ids)
    }

    /// Where turns end with the next one's opener: the openers of all roles.
    pub(crate) fn openers(&self) -> Vec<TokenId> {
        let roles = ["<|user|>", "<|observation|>", "<|assistant|>", "<|system|>"];
        roles.iter().filter_map(|role| self.tokenizer.special(role)).collect()
    }

    /// The ids of text that spells the special tokens in it, as a model would write it.
    pub(crate) fn ids(&self, text: &str) -> Vec<TokenId> {
        let mut ids = Vec::new();
        for piece in SpecialSplitter::new(&*self.tokenizer, |_| true).split(text) {
            match piece {
                Piece::Text(text) => self.tokenizer.encode(text, &mut ids),
                Piece::Special(id) => ids.push(id),
            }
        }
        ids
    }
}
