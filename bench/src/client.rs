//! One keep-alive connection, one request at a time.

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A connection to the server under test.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// If nothing listens there.
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await.with_context(|| format!("cannot reach {address}"))?;
        socket.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, host: address.to_owned() })
    }

    /// Sends a request and reads the whole reply, whatever its status.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let reply = self.sender.send_request(request).await?;
        let status = reply.status();
        Ok((status, reply.into_body().collect().await?.to_bytes()))
    }

    /// Posts and expects success.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses.
    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let (status, reply) = self.send(Method::POST, path, body).await?;
        ensure!(status == StatusCode::OK, "POST {path}: {status}: {}", String::from_utf8_lossy(&reply));
        Ok(reply)
    }
}
