//! What little control llama.cpp has.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use verbatim_engine::{Control, EngineError, Health, Load};
use verbatim_tokens::Version;

use crate::host::Host;

#[derive(Deserialize)]
struct Slot {
    id: u32,
    #[serde(default)]
    is_processing: bool,
}

/// A server's control plane.
pub(crate) struct Plane {
    pub(crate) host: Host,
}

impl Control for Plane {
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>> {
        futures::future::ready(Ok(None)).boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let slots: Vec<Slot> = self.host.http.json("/slots").await?;
            for slot in slots {
                self.host.http.post(&format!("/slots/{}?action=erase", slot.id), &json!({})).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        async move {
            match self.host.http.status("/health").await {
                Ok(200) => Health::Ready,
                Ok(503) => Health::Starting,
                Ok(status) => Health::Down { reason: format!("status {status}") },
                Err(error) => Health::Down { reason: error.to_string() },
            }
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Load, EngineError>> {
        async move {
            let slots: Vec<Slot> = self.host.http.json("/slots").await?;
            let running = slots.iter().filter(|slot| slot.is_processing).count();
            Ok(Load { running: running as u32, waiting: 0, cache: None })
        }
        .boxed()
    }
}
