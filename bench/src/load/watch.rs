//! The server's memory while sessions grow.

use std::cell::Cell;
use std::time::Duration;

use futures::future::Either;

use crate::process::Server;
use crate::stats;

const INTERVAL: Duration = Duration::from_millis(10);

/// Drives `work`, and meanwhile looks at the server's memory. Returns what `work` made, and how many
/// bytes each stored token adds, over the second half of the tokens: the first half may be served
/// from memory that start-up left free.
///
/// # Errors
/// Those of `work`.
pub(super) async fn memory<T>(
    server: &Server,
    stored: &Cell<usize>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<(T, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let done = {
        let look = async {
            let mut ticks = tokio::time::interval(INTERVAL);
            loop {
                ticks.tick().await;
                if let Ok(resident) = server.resident() {
                    points.push((stored.get() as f64, resident as f64));
                }
            }
        };
        let (look, work) = (std::pin::pin!(look), std::pin::pin!(work));
        match futures::future::select(work, look).await {
            Either::Left((done, _)) => done?,
            Either::Right((never, _)) => never,
        }
    };
    let half = stored.get() as f64 / 2.0;
    points.retain(|(tokens, _)| *tokens >= half);
    Ok((done, stats::fit(&points).slope))
}
