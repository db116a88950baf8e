//! `verbatim-bench streams`: many streamed replies at once, each at the pace of an engine.
//!
//! The promise: what is called added is the time from a token's leaving the engine, inside the server's process, to its
//! reaching the client's, by one clock; nothing is subtracted or modelled.

mod alone;
mod client;
pub(crate) mod engine;
mod report;

use anyhow::Context;
use futures::future::try_join_all;
use tokio::task::LocalSet;

use crate::args::Streams;
use crate::process::Server;
use alone::{Alone, alone};
use client::Heard;
use report::Report;

/// Runs each number of streams against the engine alone, then against a server of its own, and prints what came of it.
pub(crate) async fn run(args: &Streams) -> anyhow::Result<()> {
    println!(
        "{} tokens each, {} tokens/s a stream, one token an event at the most; times in ms\n{}",
        args.tokens,
        args.pace,
        Report::HEAD
    );
    for streams in &args.streams {
        let (own, count) = (args.clone(), *streams as usize);
        let alone = tokio::task::spawn_blocking(move || alone(&own, count)).await??;
        let report = once(args, count, alone).await?;
        println!("{report}");
    }
    Ok(())
}

async fn once(args: &Streams, streams: usize, alone: Alone) -> anyhow::Result<Report> {
    let stamps = tempfile::NamedTempFile::new().context("cannot make a file")?;
    let server = Server::pacing(args, stamps.path())?;
    // One turn loads what loads once.
    client::stream(&server.address, 0).await?;
    let (server_cpu, own_cpu) = (server.cpu()?, client::own_cpu());
    let began = std::time::Instant::now();
    let spread = args.spread_ms;
    let all = (0..streams).map(|at| {
        let (address, wait) = (server.address.clone(), spread * at as u64 / streams.max(1) as u64);
        async move {
            tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
            client::stream(&address, at).await
        }
    });
    let heard: Vec<Heard> = LocalSet::new().run_until(try_join_all(all)).await?;
    let took = began.elapsed().as_secs_f64();
    let cpu = [(server.cpu()? - server_cpu) / took, (client::own_cpu() - own_cpu) / took];
    drop(server);
    let stamps =
        serde_json::from_slice(&std::fs::read(stamps.path())?).context("the server left no stamps")?;
    Report::new(args, alone, &heard, &stamps, cpu)
}
