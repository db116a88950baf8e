//! The server under test, wired as `verbatim serve` wires it.

use std::io::Read;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use verbatim_engine::Engine;
use verbatim_events::{Observer, Observers};
use verbatim_gateway::{App, Limits, Metrics, router, serve};
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

impl Service {
    /// Starts serving.
    ///
    /// # Errors
    /// If the vocabulary is missing or there is no port.
    pub(crate) async fn start(replies: &Replies) -> anyhow::Result<Self> {
        Self::with(replies, 0).await
    }

    /// The same with the simulated engine at a pace; 0 is the mock.
    async fn with(replies: &Replies, pace: u32) -> anyhow::Result<Self> {
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
        let lineage = serde_json::from_value(replies.lineage.as_str().into()).context("--lineage")?;
        let settings = Settings { lineage, experts: replies.payload > 0, ..Settings::default() };
        // The streams themselves are the limit.
        let settings = if pace > 0 { Settings { turns: 1 << 16, ..settings } } else { settings };
        let sessions = Sessions::new(family, engine, observers, settings);
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

/// `verbatim-bench serve`: tells its address, and lives as long as its standard input.
pub(crate) async fn run(args: &Serve) -> anyhow::Result<()> {
    let service = Service::with(&args.replies, args.pace).await?;
    println!("listening on {}", service.address);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    if let Some((paced, path)) = service.paced.as_ref().zip(args.stamps.as_ref()) {
        std::fs::write(path, serde_json::to_vec(&paced.take())?).context("cannot write the stamps")?;
    }
    service.stop().await;
    Ok(())
}
