//! The server under test, wired as `verbatim serve` wires it.

use std::io::Read;
use std::sync::Arc;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use verbatim_events::{Observer, Observers};
use verbatim_gateway::{App, Limits, Metrics, router, serve};
use verbatim_session::{Sessions, Settings};

use crate::args::{Replies, Serve};
use crate::assets;
use crate::engine::MockEngine;
use crate::words::Words;

/// A server on a free port of the loopback interface.
pub(crate) struct Service {
    /// Its sessions.
    pub(crate) sessions: Sessions,
    /// `host:port`.
    pub(crate) address: String,
    /// The words that its engine says.
    pub(crate) words: Words,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
}

impl Service {
    /// Starts serving.
    ///
    /// # Errors
    /// If the vocabulary is missing or there is no port.
    pub(crate) async fn start(replies: &Replies) -> anyhow::Result<Self> {
        let tokenizer = assets::tokenizer()?;
        let words = Words::new(&*tokenizer)?;
        let family = assets::family(tokenizer)?;
        let engine = Arc::new(MockEngine::new(&*family, &words, replies)?);
        let metrics = Arc::new(Metrics::default());
        let observers = Observers::new([Arc::clone(&metrics) as Arc<dyn Observer>]);
        let lineage = serde_json::from_value(replies.lineage.as_str().into()).context("--lineage")?;
        let settings = Settings { lineage, experts: replies.payload > 0, ..Settings::default() };
        let sessions = Sessions::new(family, engine, observers, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?.to_string();
        let limits = Limits::default();
        let app = App::new(sessions.clone(), metrics, "mock");
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router(app), limits, stop.clone()));
        Ok(Self { sessions, address, words, stop, serving })
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
    let service = Service::start(&args.replies).await?;
    println!("listening on {}", service.address);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    service.stop().await;
    Ok(())
}
