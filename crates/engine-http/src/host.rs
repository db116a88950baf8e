//! What the parts of one client share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verbatim_engine::EngineError;

use crate::Options;
use crate::http::Http;
use crate::inflight::Inflight;
use crate::version::Latest;

/// One server, and what is known of it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) http: Http,
    /// The version that it named last.
    pub(crate) latest: Latest,
    /// Attempts that it runs for us.
    pub(crate) inflight: Inflight,
    /// Where attempts are aborted.
    aborts_at: Arc<[Http]>,
    /// Whether we told it to pause and not yet to go on.
    paused: Arc<AtomicBool>,
}

impl Host {
    pub(crate) fn new(http: Http, options: &Options) -> Self {
        let elsewhere = options.aborts_at.iter().filter_map(|url| Http::new(url, options).ok());
        let mut aborts_at: Vec<Http> = elsewhere.collect();
        if aborts_at.is_empty() {
            aborts_at.push(http.clone());
        }
        let (latest, inflight) = (Latest::default(), Inflight::default());
        let paused = Arc::new(AtomicBool::new(false));
        Self { http, latest, inflight, aborts_at: aborts_at.into(), paused }
    }

    /// Posts an abort to where it must go. One server that heard it is enough; one that does not know
    /// the attempt says nothing.
    pub(crate) async fn abort(&self, path: &str, body: &serde_json::Value) -> Result<(), EngineError> {
        let told = self.aborts_at.iter().map(|http| http.post(path, body));
        let told = futures::future::join_all(told).await;
        let mut failed = None;
        for reply in told {
            match reply {
                Ok(_) => return Ok(()),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns once no attempt of ours is here or on its way.
    pub(crate) async fn drained(&self) {
        while self.inflight.len() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}
