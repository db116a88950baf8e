//! The server under test, wired as `verbatim serve` wires it.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use verbatim_engine::Engine;
use verbatim_events::{Observer, Observers};
use verbatim_gateway::{App, Limits, Metrics, router, serve};
use verbatim_journal::{Journal, Level, Options};
use verbatim_session::{Sessions, Settings};

use crate::args::{Replies, Serve};
use crate::assets;
use crate::engine::MockEngine;
use crate::streams::engine::Stamped;
use crate::words::Words;

/// A server on a free port of the loopback interface.
pub(crate) struct Service {
    /// Its sessions.
    pub(crate) sessions: Sessions,
    /// `host:port`.
    pub(crate) address: String,
    /// The words that its engine says.
    pub(crate) words: Words,
    /// The simulated engine, if it is that.
    paced: Option<Arc<Stamped>>,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
}

/// Where sessions are kept, and what that survives.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) folder: PathBuf,
    pub(crate) level: Level,
}

impl Service {
    /// Starts serving.
    ///
    /// # Errors
    /// If the vocabulary is missing or there is no port.
    pub(crate) async fn start(replies: &Replies) -> anyhow::Result<Self> {
        Self::with(replies, 0, None).await
    }

    /// The same with sessions that are kept.
    ///
    /// # Errors
    /// As [`Service::start`], or if the journal cannot be opened.
    pub(crate) async fn keeping(replies: &Replies, kept: &Kept) -> anyhow::Result<Self> {
        Self::with(replies, 0, Some(kept)).await
    }

    /// The same with the simulated engine at a pace; 0 is the mock.
    async fn with(replies: &Replies, pace: u32, kept: Option<&Kept>) -> anyhow::Result<Self> {
        let tokenizer = assets::tokenizer()?;
        let words = Words::new(&*tokenizer)?;
        let family = assets::family(tokenizer)?;
        let paced = (pace > 0)
            .then(|| Arc::new(Stamped::new(&*family, &words, replies.output_tokens as usize, pace)));
        let engine: Arc<dyn Engine> = match &paced {
            Some(paced) => Arc::clone(paced) as Arc<dyn Engine>,
            None => Arc::new(MockEngine::new(&*family, &words, replies)?),
        };
        let metrics = Arc::new(Metrics::default());
        let observers = Observers::new([Arc::clone(&metrics) as Arc<dyn Observer>]);
        let settings = settings(replies)?;
        // The streams themselves are the limit.
        let settings = if pace > 0 { Settings { turns: 1 << 16, ..settings } } else { settings };
        let journal = kept.map(|Kept { folder, level }| {
            Journal::open(folder, Options { level: *level, ..Options::default() })
        });
        let mut journal = journal.transpose()?;
        let kept = journal.as_mut().map(|(journal, recovery)| (journal.clone(), recovery));
        let (sessions, _) = Sessions::kept(family, engine, observers, settings, kept);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?.to_string();
        let limits = Limits { connections: 1 << 16, ..Limits::default() };
        let app = App::new(sessions.clone(), metrics, "mock");
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router(app), limits, stop.clone()));
        Ok(Self { sessions, address, words, paced, stop, serving })
    }

    /// Closes every session and stops serving.
    pub(crate) async fn stop(self) {
        self.sessions.close_all().await;
        self.stop.cancel();
        let _ = self.serving.await;
    }
}

pub(crate) fn settings(replies: &Replies) -> anyhow::Result<Settings> {
    let lineage = serde_json::from_value(replies.lineage.as_str().into()).context("--lineage")?;
    Ok(Settings { lineage, experts: replies.payload > 0, ..Settings::default() })
}

/// `verbatim-bench serve`: tells its address, and lives as long as its standard input.
pub(crate) async fn run(args: &Serve) -> anyhow::Result<()> {
    let level = if args.disk { Level::Disk } else { Level::Process };
    let kept = args.journal.clone().map(|folder| Kept { folder, level });
    let service = Service::with(&args.replies, args.pace, kept.as_ref()).await?;
    println!("listening on {}", service.address);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    if let Some((paced, path)) = service.paced.as_ref().zip(args.stamps.as_ref()) {
        std::fs::write(path, serde_json::to_vec(&paced.take())?).context("cannot write the stamps")?;
    }
    service.stop().await;
    Ok(())
}
