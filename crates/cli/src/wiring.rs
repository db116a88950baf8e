//! From settings to a running service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use verbatim_dialects::Sampling;
use verbatim_dialects::chat::Request;
use verbatim_events::{Observer, Observers};
use verbatim_forest::Lineage;
use verbatim_gateway::{Access, App, ControlKey, IpNet, Limits, Metrics, RolloutControl, router, serve};
use verbatim_rollout::Progress;
use verbatim_scheduler::Rules;
use verbatim_session::{
    Budget, Matching, Quota, SamplingDefaults, Sessions, Settings, SpillOptions, ToolsDrift,
};

use crate::args;
use crate::config::{Config, Layered};
use crate::event_log::EventLog;
use crate::journal::Opened;
use crate::model::Loaded;
use crate::plugins::Plugins;
use crate::rollout::{Prepared, Started};

/// The settings that flags and file give; `more` are a command's own flags.
///
/// # Errors
/// As [`Layered::new`].
pub(crate) fn settings(flags: &args::Settings, more: &[(&str, Option<String>)]) -> anyhow::Result<Layered> {
    let mut all = Vec::new();
    // `--engine URL` is the engine at that URL.
    let (mut urls, mut kind) = (flags.url.clone(), flags.engine.clone());
    if let Some(url) = kind.take_if(|kind| kind.contains("://")) {
        urls.push(url);
    }
    let short = [("engine.kind", &kind), ("engine.model", &flags.model), ("family.name", &flags.family)];
    for (key, value) in short {
        all.extend(value.clone().map(|value| (key.to_owned(), quoted(&value))));
    }
    if !urls.is_empty() {
        let urls: Vec<_> = urls.iter().map(|url| quoted(url)).collect();
        all.push(("engine.urls".to_owned(), format!("[{}]", urls.join(", "))));
        // Servers say what they are; which model's tokenizer is theirs, too.
        if kind.is_none() {
            all.push(("engine.kind".to_owned(), quoted("http")));
        }
        if flags.model.is_none() {
            all.push(("engine.model".to_owned(), quoted("auto")));
        }
    }
    for (key, value) in more {
        all.extend(value.clone().map(|value| ((*key).to_owned(), value)));
    }
    for set in &flags.set {
        let (key, value) = set.split_once('=').with_context(|| format!("--set {set}: expected KEY=VALUE"))?;
        all.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    Layered::new(flags.config.as_deref(), &all)
}

/// Text as a TOML string, so that a value such as `1e3` stays text.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A service that accepts connections.
pub(crate) struct Service {
    /// Its sessions.
    pub(crate) sessions: Sessions,
    /// Its root, without a trailing slash.
    pub(crate) url: String,
    /// The user's callables, which end with the service.
    _plugins: Plugins,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
}

impl Service {
    /// Starts serving.
    ///
    /// # Errors
    /// If a setting is wrong, the address cannot be had, or it is not a loopback address and there is
    /// no control key.
    pub(crate) async fn start(
        config: &Config,
        loaded: &Loaded,
        access: Access,
        journal: Option<Opened>,
    ) -> anyhow::Result<Self> {
        let (bound, _) = Bound::new(config, loaded, &access, None, journal).await?;
        bound.serve(config, loaded, access, None)
    }

    /// The same with a rollout over its sessions.
    ///
    /// # Errors
    /// As [`start`](Self::start), or if the rollout cannot begin.
    pub(crate) async fn with_rollout(
        config: &Config,
        loaded: &Loaded,
        access: Access,
        prepared: Prepared,
        progress: Box<dyn Progress>,
        journal: Option<Opened>,
    ) -> anyhow::Result<(Self, Started)> {
        let rules = Some(prepared.rules.clone());
        let (bound, journal) = Bound::new(config, loaded, &access, rules, journal).await?;
        let served = (bound.sessions.clone(), bound.url.clone(), loaded.model.as_str());
        let started = prepared.start(config, served, bound.plugins.host(), progress, journal).await?;
        let service = bound.serve(config, loaded, access, Some(started.control.clone()))?;
        Ok((service, started))
    }

    /// Ends: aborts what is in flight, closes every session, lets replies out.
    pub(crate) async fn stop(self) {
        self.sessions.close_all().await;
        self.stop.cancel();
        let _ = self.serving.await;
    }
}

/// Sessions, and the address that they will be served at.
struct Bound {
    plugins: Plugins,
    metrics: Arc<Metrics>,
    sessions: Sessions,
    listener: TcpListener,
    url: String,
}

impl Bound {
    async fn new(
        config: &Config,
        loaded: &Loaded,
        access: &Access,
        resident: Option<Rules>,
        mut journal: Option<Opened>,
    ) -> anyhow::Result<(Self, Option<Opened>)> {
        let plugins = Plugins::load(config).await?;
        let metrics = Arc::new(Metrics::default());
        let mut observers: Vec<Arc<dyn Observer>> = vec![metrics.clone()];
        if let Some(path) = &config.log.events {
            observers.push(Arc::new(EventLog::open(path)?));
        }
        let settings = Settings { matching: plugins.matching.clone(), resident, ..session_settings(config)? };
        let since = Instant::now();
        let (sessions, restored) = Sessions::kept(
            Arc::clone(&loaded.family),
            Arc::clone(&loaded.engine),
            Observers::new(observers),
            settings,
            journal.as_mut().map(|opened| (opened.journal.clone(), &mut opened.recovery)),
        );
        if let Some(opened) = &journal {
            opened.tell(&restored, since.elapsed());
        }
        let listener = TcpListener::bind(&config.server.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.server.listen))?;
        let address = listener.local_addr()?;
        ensure!(
            address.ip().is_loopback() || access.key.is_some() || !access.trusted.is_empty(),
            "{address} can be reached from other machines: give a control key with --control-key-file FILE, name the hosts that need none with --trust-cidr, or listen on 127.0.0.1"
        );
        Ok((Self { plugins, metrics, sessions, listener, url: format!("http://{address}") }, journal))
    }

    fn serve(
        self,
        config: &Config,
        loaded: &Loaded,
        access: Access,
        rollout: Option<RolloutControl>,
    ) -> anyhow::Result<Service> {
        let Self { plugins, metrics, sessions, listener, url } = self;
        let limits = Limits {
            body: config.server.body_mib << 20,
            head: (config.server.head_kib << 10).max(8192),
            connections: config.server.connections.max(1),
            idle: Duration::from_secs(config.server.idle_seconds.max(1)),
            ..Limits::default()
        };
        let app = App::new(sessions.clone(), metrics, loaded.model.as_str());
        let app = App {
            access,
            hooks: Arc::clone(&plugins.hooks),
            one_chunk: config.server.one_chunk,
            passed: config.server.passed.clone().map_or(app.passed, Into::into),
            limits,
            rollout,
            ..app
        };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router(app), limits, stop.clone()));
        Ok(Service { sessions, _plugins: plugins, stop, serving, url })
    }
}

/// The control key and the trusted networks that the settings name.
///
/// # Errors
/// If the file cannot be read, the key is too short, or a network is none.
pub(crate) fn access(config: &Config) -> anyhow::Result<Access> {
    let key = match &config.server.control_key_file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("server.control_key_file: cannot read {}", path.display()))?;
            Some(
                ControlKey::new(&text)
                    .with_context(|| format!("server.control_key_file: {}", path.display()))?,
            )
        }
        None => None,
    };
    let network = |text: &String| {
        let host = || text.parse::<std::net::IpAddr>().map(IpNet::from);
        let network = text.parse::<IpNet>().or_else(|_| host());
        network.with_context(|| format!("server.trust_cidr: {text:?} is no network such as 10.0.0.0/8"))
    };
    let trusted = config.server.trust_cidr.iter().map(network).collect::<anyhow::Result<_>>()?;
    Ok(Access { key, trusted })
}

/// Hears Ctrl-C and SIGTERM from now on; what it returns waits for either.
///
/// # Errors
/// If the process cannot listen to signals.
pub(crate) fn interruption() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Waits until standard input ends.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn disowned() -> anyhow::Result<impl Future<Output = ()>> {
    let (sender, ended) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime's would hold up the end of the process until somebody types.
    std::thread::Builder::new().name("owner".into()).spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = sender.send(());
    })?;
    Ok(async move {
        let _ = ended.await;
    })
}

/// What sessions are set to.
///
/// # Errors
/// If a setting is none of its values, or out of its range; the error names it.
pub(crate) fn session_settings(config: &Config) -> anyhow::Result<Settings> {
    let lineage = match config.sessions.lineage.as_str() {
        "tree" => Lineage::Tree,
        "linear" => Lineage::Linear,
        other => bail!("sessions.lineage: {other:?} is none of tree, linear"),
    };
    let tools_drift = match config.sessions.tools_drift.as_str() {
        "accept" => ToolsDrift::Accept,
        "refuse" => ToolsDrift::Refuse,
        other => bail!("sessions.tools_drift: {other:?} is none of accept, refuse"),
    };
    let sampling = &config.sampling;
    ensure!(sampling.temperature >= 0.0, "sampling.temperature: {} is below 0", sampling.temperature);
    ensure!(
        sampling.top_p > 0.0 && sampling.top_p <= 1.0,
        "sampling.top_p: {} is not in (0, 1]",
        sampling.top_p
    );
    Ok(Settings {
        lineage,
        matching: Matching::default(),
        rollback: config.sessions.rollback,
        tools_drift,
        quota: Quota {
            sessions: (config.sessions.max_sessions > 0).then_some(config.sessions.max_sessions),
            session_bytes: (config.sessions.max_mib > 0).then_some(config.sessions.max_mib << 20),
            idle: (config.sessions.idle_seconds > 0)
                .then(|| Duration::from_secs(config.sessions.idle_seconds)),
        },
        pinned: pinned("sampling.pin", &sampling.pin)?,
        template: config.family.template_arguments.clone(),
        sampling: SamplingDefaults {
            max_tokens: (sampling.max_tokens > 0).then_some(sampling.max_tokens),
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            top_k: (sampling.top_k > 0).then_some(sampling.top_k),
        },
        turns: config.sessions.turns.max(1),
        budget: (config.sessions.tokens > 0).then(|| Budget {
            tokens: config.sessions.tokens,
            patience: Duration::from_secs(config.sessions.patience_seconds),
        }),
        decode_cap: config.sessions.decode_cap,
        adapters: config.sessions.adapters,
        lifecycle: config.sessions.lifecycle,
        salted: config.sessions.salted,
        resident: None,
        hold: Duration::from_secs(config.sessions.hold_seconds),
        grace: Duration::from_secs(config.sessions.grace_seconds),
        outage: Duration::from_secs(config.sessions.outage_seconds),
        experts: config.engine.experts,
        indexer: config.engine.indexer,
        spill: SpillOptions {
            memory: config.sessions.replay_mib << 20,
            folder: config.sessions.spill.clone(),
        },
    })
}

/// What the settings pin, each value checked as a request's own would be.
pub(crate) fn pinned(section: &str, pin: &Map<String, Value>) -> anyhow::Result<Sampling> {
    const CAN: [&str; 10] = [
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "min_tokens",
        "seed",
    ];
    for name in pin.keys() {
        ensure!(
            CAN.contains(&name.as_str()),
            "{section}.{name}: only these can be pinned: {}",
            CAN.join(", ")
        );
    }
    // A request of one message with these fields is read as any other.
    let mut body = pin.clone();
    body.insert("messages".into(), json!([{"role": "user", "content": ""}]));
    let body = serde_json::to_vec(&body)?;
    Ok(Request::parse(&body).map_err(|error| anyhow!("{section}.{error}"))?.sampling)
}
