//! Engines that are servers: from their URLs to a probed pool and a family.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use verbatim_engine::{ProbeFailed, probe};
use verbatim_engine_http::{Kind, Options, Parse, Pool, PoolOptions, Server, experts_shape};
use verbatim_tokens::{LogprobKind, TokenId};

use super::Loaded;
use super::load::{files, find, hello, speak};
use crate::config::{Config, EngineConfig, EngineKind, ParseKind};

/// What may be lost, by name.
const LOSSES: [&str; 4] = ["ids", "logprobs", "vocabulary", "versions"];

/// The kind that the settings insist on.
pub(crate) fn kind(config: &EngineConfig) -> Option<Kind> {
    match config.kind {
        EngineKind::Sglang => Some(Kind::Sglang),
        EngineKind::Vllm => Some(Kind::Vllm),
        EngineKind::Llamacpp => Some(Kind::LlamaCpp),
        EngineKind::Http | EngineKind::Embedded | EngineKind::Sim => None,
    }
}

/// How servers are spoken to.
///
/// # Errors
/// If a key file cannot be read, or a setting is none of its values.
pub(crate) fn options(config: &EngineConfig) -> anyhow::Result<Options> {
    let key = |path: &Option<PathBuf>| {
        let read = |path: &PathBuf| {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok::<_, anyhow::Error>(text.trim().to_owned())
        };
        path.as_ref().map(read).transpose()
    };
    let logprobs = match config.logprobs.as_str() {
        "auto" => None,
        "raw" => Some(LogprobKind::Raw),
        "tempered" => Some(LogprobKind::Tempered),
        "processed" => Some(LogprobKind::Processed),
        other => bail!("engine.logprobs: {other:?} is none of auto, raw, tempered, processed"),
    };
    Ok(Options {
        logprobs,
        api_key: key(&config.api_key_file)?,
        admin_key: key(&config.admin_key_file)?,
        parse: match config.parse {
            ParseKind::Family => Parse::Family,
            ParseKind::Engine => Parse::Engine,
        },
        max_context: (config.max_context > 0).then_some(config.max_context),
        silence: Duration::from_secs(config.silence_seconds.max(1)),
        ..Options::default()
    })
}

/// Connects to all servers, finds their family, and probes each of them.
///
/// # Errors
/// If a server does not answer, does not fit the others, or loses what rows need.
pub(super) async fn load(config: &Config) -> anyhow::Result<Loaded> {
    let engine = &config.engine;
    ensure!(!engine.urls.is_empty(), "engine.urls: give a server's URL with --url");
    ensure!(
        engine.watch_seconds > 0.0 && engine.watch_seconds.is_finite(),
        "engine.watch_seconds: {} is not above 0",
        engine.watch_seconds
    );
    for loss in &engine.accept_loss {
        ensure!(
            LOSSES.contains(&loss.as_str()),
            "engine.accept_loss: {loss:?} is none of {}",
            LOSSES.join(", ")
        );
    }
    let mut options = options(engine)?;
    let first = verbatim_engine_http::connect(&engine.urls[0], kind(engine), &options).await?;
    let path = model_path(engine, &first)?;
    let name = match engine.model.as_str() {
        "auto" => first.engine.capabilities().model.clone(),
        name => name.to_owned(),
    };
    let family = speak(config, &name, files(&path)?)?;
    // A model may have more rows than its tokenizer has tokens.
    options.vocabulary = family.tokenizer().vocabulary();
    if let Ok(text) = std::fs::read_to_string(path.join("config.json")) {
        options.experts = experts_shape(&text);
        options.vocabulary = vocabulary(&text).unwrap_or(options.vocabulary);
    }
    let pool = Pool::connect(PoolOptions {
        urls: engine.urls.clone(),
        router: engine.router.clone(),
        kind: kind(engine),
        permits: engine.permits,
        watch: Duration::from_secs_f64(engine.watch_seconds),
        server: options,
    })
    .await?;
    let capabilities = verbatim_engine::Engine::capabilities(&pool);
    ensure!(
        !engine.experts || capabilities.experts,
        "engine.experts: these servers do not report routed experts (SGLang and vLLM: --enable-return-routed-experts; the model's config.json must be at hand)"
    );
    ensure!(
        !engine.indexer || capabilities.indexer,
        "engine.indexer: these servers do not report what an indexer chose (SGLang: --enable-return-indexer-topk)"
    );
    let question: Arc<[TokenId]> = hello(family.as_ref())?.into();
    if !capabilities.parses {
        for (url, server) in pool.engines() {
            accept(probe(server.as_ref(), Arc::clone(&question)).await, &engine.accept_loss, &url)?;
        }
    }
    Ok(Loaded { engine: Arc::new(pool), family, model: name })
}

/// Lets a loss pass that the settings name.
fn accept<T>(probed: Result<T, ProbeFailed>, accepted: &[String], url: &str) -> anyhow::Result<()> {
    let missing = match probed {
        Ok(_) => return Ok(()),
        Err(ProbeFailed::Loses { missing, .. }) => missing,
        Err(failed) => return Err(anyhow::Error::new(failed).context(url.to_owned())),
    };
    let (passed, refused): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|loss| accepted.iter().any(|name| name == loss.name()));
    for loss in passed {
        tracing::warn!(url, "the engine loses {loss}, which the settings accept");
    }
    if refused.is_empty() {
        return Ok(());
    }
    let (what, names): (Vec<_>, Vec<_>) = refused.iter().map(|loss| (loss.to_string(), loss.name())).unzip();
    bail!(
        "{url} loses {}; `verbatim engine probe {url}` says more, --set engine.accept_loss={names:?} serves all the same",
        what.join("; ")
    )
}

/// Where the tokenizer and the chat template are.
fn model_path(config: &EngineConfig, server: &Server) -> anyhow::Result<PathBuf> {
    if config.model != "auto" {
        return find(config);
    }
    let told = server.facts.model_path.as_deref().map(Path::new);
    match told {
        Some(path) if path.exists() => Ok(path.to_owned()),
        _ => bail!(
            "the files of the model that {} serves are not on this machine: give --model, a Hugging Face folder or GGUF file with the same tokenizer",
            server.url
        ),
    }
}

fn vocabulary(config: &str) -> Option<usize> {
    let config: serde_json::Value = serde_json::from_str(config).ok()?;
    let size = config.get("vocab_size").or_else(|| config.get("text_config")?.get("vocab_size"))?;
    size.as_u64().map(|size| size as usize)
}

/// A plain question in the model's own template, for a server that is only looked at.
///
/// # Errors
/// If the model's files are not at hand.
pub(crate) fn question(config: &Config, server: &Server) -> anyhow::Result<Vec<TokenId>> {
    let path = model_path(&config.engine, server)?;
    let family = speak(config, &config.engine.model, files(&path)?)?;
    hello(family.as_ref())
}
