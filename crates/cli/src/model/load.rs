//! Loading what the settings name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use verbatim_chat::{Arguments, Message, Role, Setup, Tool, ToolCall};
use verbatim_engine::{Engine, probe};
use verbatim_engine_sim::{Caller, Drawn, Latency, SimEngine, SimOptions};
use verbatim_families::{Family, Scene};
use verbatim_tokenizer::{HfTokenizer, SpecialSplitter, Tokenizer};
use verbatim_tokens::TokenId;

use super::family::{Hints, family};
use super::script::Told;
use super::vocabulary::{Named, Vocabulary, tiktoken};
use super::{Cache, pull, servers};
use crate::config::{Config, EngineConfig, EngineKind};

/// An engine with what belongs to its model.
pub(crate) struct Loaded {
    /// The engine, probed.
    pub(crate) engine: Arc<dyn Engine>,
    /// The family.
    pub(crate) family: Arc<dyn Family>,
    /// The model's name.
    pub(crate) model: String,
}

/// What a model's files hold beside its weights.
pub(super) struct Files {
    pub(super) vocabulary: Vocabulary,
    pub(super) template: Option<String>,
    pub(super) bos: Option<Named>,
    pub(super) eos: Option<Named>,
}

/// Loads engine, tokenizer and family, and probes the engine.
///
/// # Errors
/// If the model cannot be found, fetched or loaded, or the engine loses what rows need.
pub(crate) async fn load(config: &Config) -> anyhow::Result<Loaded> {
    let kind = config.engine.kind;
    if !matches!(kind, EngineKind::Embedded | EngineKind::Sim) {
        return servers::load(config).await;
    }
    let path = find(&config.engine)?;
    let (engine, files) = match kind {
        EngineKind::Embedded => embedded(&path, &config.engine)?,
        _ => (None, files(&path)?),
    };
    let family = speak(config, &config.engine.model, files)?;
    let engine = match engine {
        Some(engine) => engine,
        None => Arc::new(sim(&config.engine, &family)?),
    };
    check(engine.as_ref(), family.as_ref()).await?;
    let model = match kind {
        EngineKind::Embedded => config.engine.model.clone(),
        _ => "sim".to_owned(),
    };
    Ok(Loaded { engine, family, model })
}

/// The family that goes with a model's files.
pub(super) fn speak(config: &Config, model: &str, files: Files) -> anyhow::Result<Arc<dyn Family>> {
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(files.vocabulary.tokenizer()?);
    let spell = |token| match token {
        Named::Id(id) => tokenizer.text(&[id]),
        Named::Spelled(spelling) => spelling,
    };
    let hints = Hints {
        model,
        template: files.template.as_deref(),
        eos: files.eos.map(spell),
        bos: files.bos.map(spell),
    };
    let family = family(&config.family, &hints, Arc::clone(&tokenizer))?;
    for warning in family.warnings() {
        tracing::warn!(family = family.name(), "the chat template {warning}");
    }
    Ok(family)
}

/// Only the family, without weights.
///
/// # Errors
/// If the model cannot be found or fetched, or speaks no family.
pub(crate) fn family_alone(config: &Config) -> anyhow::Result<Arc<dyn Family>> {
    speak(config, &config.engine.model, files(&find(&config.engine)?)?)
}

/// Only the tokenizer, without weights.
///
/// # Errors
/// If the model cannot be found or fetched.
pub(crate) fn tokenizer(config: &Config) -> anyhow::Result<HfTokenizer> {
    files(&find(&config.engine)?)?.vocabulary.tokenizer()
}

pub(super) fn find(config: &EngineConfig) -> anyhow::Result<PathBuf> {
    let path = Path::new(&config.model);
    if path.exists() {
        return Ok(path.to_owned());
    }
    let cache = Cache::at(config.cache.as_deref())?;
    pull(&config.model, None, &cache).with_context(|| format!("cannot get model {:?}", config.model))
}

/// A plain question, rendered.
pub(super) fn hello(family: &dyn Family) -> anyhow::Result<Vec<TokenId>> {
    let setup = Setup::default();
    let question = Message::new(Role::User, "Hello");
    Ok(family.open(Scene { setup: &setup, opened: 0 }, &[question])?.ids)
}

/// Asks for a few tokens after a plain question.
async fn check(engine: &dyn Engine, family: &dyn Family) -> anyhow::Result<()> {
    let report = probe(engine, hello(family)?.into()).await?;
    tracing::debug!(?report, "the engine passed its probe");
    Ok(())
}

fn sim(config: &EngineConfig, family: &Arc<dyn Family>) -> anyhow::Result<SimEngine> {
    let mut ids = Vec::new();
    let words =
        "the agent reads a task then calls one tool and says what it saw in plain words before it ends ";
    family.tokenizer().encode(words, &mut ids);
    let stop = family.stop_ids().first().copied().unwrap_or_default();
    let options = SimOptions {
        seed: config.seed,
        max_context: if config.max_context == 0 { 32_768 } else { config.max_context },
        vocabulary: family.tokenizer().vocabulary(),
        latency: Latency { decode_token: Duration::from_micros(config.sim_token_us), ..Latency::NONE },
        chunk: config.sim_chunk.max(1),
        image_pad: family.vision().map(|vision| vision.pad),
    };
    // What a model writes as part of what it says are its tokens, as in history.
    let (tokenizer, splitter) = (Arc::clone(family.tokenizer()), speaks(family.as_ref()));
    let speller = Arc::new(move |text: &str| splitter.encode(tokenizer.as_ref(), text));
    let drawn = Drawn { ids, stop, mean: config.sim_tokens };
    Ok(match (&config.sim_script, &config.sim_tool) {
        (Some(path), _) => {
            SimEngine::with_speller(options, Told::read(path, Arc::clone(family), drawn)?, speller)
        }
        (None, Some(tool)) => {
            let call = call(family.as_ref(), tool)?;
            SimEngine::with_speller(options, Caller { talk: drawn, call }, speller)
        }
        (None, None) => SimEngine::with_speller(options, drawn, speller),
    })
}

fn speaks(family: &dyn Family) -> SpecialSplitter {
    SpecialSplitter::new(family.tokenizer().as_ref(), |added| !added.control)
}

/// What a model of this family would sample to call a tool.
fn call(family: &dyn Family, tool: &str) -> anyhow::Result<Vec<TokenId>> {
    let declared = json!({"type": "function", "function": {"name": tool, "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}});
    let setup = Setup { tools: vec![Tool(declared)], ..Setup::default() };
    let scene = Scene { setup: &setup, opened: 0 };
    let called = ToolCall {
        id: None,
        name: tool.to_owned(),
        arguments: Arguments::Json(json!({"text": "what the agent saw"})),
    };
    let message = Message { tool_calls: vec![called], ..Message::new(Role::Assistant, "") };
    let start = family.open(scene, &[Message::new(Role::User, "Hello")])?.start;
    family.reply(scene, start, &message).context("engine.sim_tool: this family calls no tools")
}

#[cfg(feature = "embedded")]
fn embedded(path: &Path, config: &EngineConfig) -> anyhow::Result<(Option<Arc<dyn Engine>>, Files)> {
    use verbatim_engine_embedded::{EmbeddedEngine, Options, Precision};

    let precision = match config.precision.as_str() {
        "auto" => Precision::Auto,
        "f32" => Precision::F32,
        "q8" => Precision::Q8,
        other => anyhow::bail!("engine.precision: {other:?} is none of auto, f32, q8"),
    };
    let options = Options {
        precision,
        name: Some(config.model.clone()),
        max_batch: config.max_batch,
        max_context: (config.max_context > 0).then_some(config.max_context),
        cache_bytes: config.prefix_cache_mib << 20,
        ..Options::default()
    };
    let (engine, source) = EmbeddedEngine::load(path, options)?;
    Ok((Some(Arc::new(engine)), source.into()))
}

#[cfg(feature = "embedded")]
pub(super) fn files(path: &Path) -> anyhow::Result<Files> {
    match tiktoken(path)? {
        Some(files) => Ok(files),
        None => Ok(verbatim_engine_embedded::Source::read(path)?.into()),
    }
}

#[cfg(feature = "embedded")]
impl From<verbatim_engine_embedded::Source> for Files {
    fn from(source: verbatim_engine_embedded::Source) -> Self {
        Self {
            vocabulary: Vocabulary::Json(source.tokenizer_json),
            template: source.chat_template,
            bos: source.bos.map(Named::Id),
            eos: source.eos.first().copied().map(Named::Id),
        }
    }
}

#[cfg(not(feature = "embedded"))]
fn embedded(_: &Path, _: &EngineConfig) -> anyhow::Result<(Option<Arc<dyn Engine>>, Files)> {
    anyhow::bail!("this binary was built without the embedded engine; use --engine sim")
}

#[cfg(not(feature = "embedded"))]
pub(super) fn files(path: &Path) -> anyhow::Result<Files> {
    if let Some(files) = tiktoken(path)? {
        return Ok(files);
    }
    let tokenizer = path.join("tokenizer.json");
    let tokenizer_json = std::fs::read(&tokenizer).with_context(|| {
        format!("cannot read {} (this binary reads Hugging Face folders only)", tokenizer.display())
    })?;
    Ok(Files { vocabulary: Vocabulary::Json(tokenizer_json), template: None, bos: None, eos: None })
}
