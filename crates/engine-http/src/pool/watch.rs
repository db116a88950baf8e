//! Looking after the engines of a pool.

use std::sync::{Arc, Weak};

use futures::future::join_all;
use verbatim_engine::Health;

use super::member::Member;
use super::{Shared, unfit};
use crate::connect;

/// Looks at every engine again and again, until the pool is gone.
pub(super) async fn watch(pool: Weak<Shared>) {
    while let Some(shared) = pool.upgrade() {
        let members = shared.members().into_iter().chain(shared.front.clone());
        join_all(members.map(|member| look(Arc::clone(&shared), member))).await;
        let pause = shared.options.watch;
        shared.changed.notify_waiters();
        drop(shared);
        tokio::time::sleep(pause).await;
    }
}

async fn look(shared: Arc<Shared>, member: Arc<Member>) {
    let engine = member.engine();
    let Some(control) = engine.control() else { return };
    let orders = member.orders();
    let health = control.health().await;
    let (load, version) = match health {
        Health::Ready | Health::Paused => (control.load().await.ok(), control.version().await.ok().flatten()),
        Health::Starting | Health::Down { .. } => (None, None),
    };
    if !member.seen(orders, health, load, version) {
        return;
    }
    // It was started anew, perhaps with other flags: what is known of it is asked again.
    let options = &shared.options;
    match connect(&member.url, options.kind, &options.server).await {
        Ok(server) => match unfit(&shared.capabilities, server.engine.capabilities()) {
            None => member.replace(server),
            Some(reason) => {
                tracing::error!(engine = %member.url, reason, "an engine came back as another one");
                member.seen(orders, Health::Down { reason }, None, None);
            }
        },
        Err(error) => {
            member.seen(orders, Health::Down { reason: error.to_string() }, None, None);
        }
    }
}
