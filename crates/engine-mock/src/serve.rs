//! Listening, and breaking connections off on purpose.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use axum::Router;
use axum::response::Response;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::MockError;

/// The connection that a request came in on; among its extensions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(CancellationToken);

impl Line {
    /// Resets the connection.
    pub(crate) fn break_off(&self) {
        self.0.cancel();
    }

    /// Resets the connection in place of a reply.
    pub(crate) async fn reset(&self) -> Response {
        self.break_off();
        std::future::pending().await
    }
}

/// A server that can be killed and started again on its port.
pub(crate) struct Server {
    router: Router,
    port: u16,
    live: Mutex<Option<Live>>,
}

struct Live {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Listens on a loopback port; 0 is any.
    pub(crate) async fn start(port: u16, router: Router) -> Result<Self, MockError> {
        let listener = listen(port)?;
        let port = listener.local_addr().map_err(|source| MockError::Listen { port, source })?.port();
        let live = Mutex::new(Some(Live::start(listener, router.clone())));
        Ok(Self { router, port, live })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Resets every connection and stops listening.
    pub(crate) async fn kill(&self) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Live { stop, tasks }) = live {
            stop.cancel();
            tasks.close();
            tasks.wait().await;
        }
    }

    /// Listens again on the same port, if it does not.
    pub(crate) fn restart(&self) -> Result<(), MockError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if live.is_none() {
            *live = Some(Live::start(listen(self.port)?, self.router.clone()));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(live) = self.live.get_mut().unwrap_or_else(PoisonError::into_inner) {
            live.stop.cancel();
        }
    }
}

impl Live {
    fn start(listener: TcpListener, router: Router) -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(listener, router, stop.clone(), tasks.clone()));
        Self { stop, tasks }
    }
}

/// A restart must not wait for the kernel to forget the connections of before.
fn listen(port: u16) -> Result<TcpListener, MockError> {
    let open = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        socket.listen(1024)
    };
    open().map_err(|source| MockError::Listen { port, source })
}

async fn accept(listener: TcpListener, router: Router, stop: CancellationToken, tasks: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        if let Ok((socket, _)) = accepted {
            tasks.spawn(connection(socket, router.clone(), stop.clone()));
        }
    }
}

async fn connection(socket: TcpStream, router: Router, stop: CancellationToken) {
    let _ = socket.set_nodelay(true);
    let line = Line::default();
    let (named, service) = (line.clone(), TowerToHyperService::new(router));
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(named.clone());
        service.call(request)
    });
    let mut served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        _ = &mut served => return,
        () = line.0.cancelled() => {}
        () = stop.cancelled() => {}
    }
    let _ = served.into_parts().io.into_inner().set_zero_linger();
}
