//! Accepting connections, with limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::Limits;
use crate::access::Peer;

/// How long requests in flight may take once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves `router` on `listener` until `stop` is cancelled; then lets requests in flight end.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    let connections = Arc::new(Semaphore::new(limits.connections));
    let tasks = TaskTracker::new();
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&connections).acquire_owned() => permit,
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let (socket, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: what is open has to close first.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Streams are many small writes that a reader waits for.
        let _ = socket.set_nodelay(true);
        let peer = Peer(address.ip());
        let service = TowerToHyperService::new(router.clone().map_request(
            move |mut request: axum::http::Request<_>| {
                request.extensions_mut().insert(peer);
                request
            },
        ));
        let stop = stop.clone();
        tasks.spawn(async move {
            let _permit = permit;
            let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
            builder
                .http1()
                .timer(TokioTimer::new())
                // It holds for connections between two requests, too.
                .header_read_timeout(limits.idle)
                .max_buf_size(limits.head);
            let connection = builder.serve_connection(TokioIo::new(socket), service);
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended badly");
            }
        });
    }
    tasks.close();
    if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}
