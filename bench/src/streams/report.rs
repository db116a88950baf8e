//! What the streams of one run come to.

use std::fmt;

use anyhow::{Context, ensure};

use super::alone::Alone;
use super::client::Heard;
use super::engine::Stamps;
use crate::args::Streams;
use crate::stats::{percentile, sorted};

/// One run.
pub(crate) struct Report {
    streams: usize,
    /// The engine without a server.
    alone: Alone,
    /// Tokens a second of a stream, over all.
    pace: f64,
    /// From the request to its first token at the client.
    first: Vec<f64>,
    /// From the request to the engine's being asked.
    before: Vec<f64>,
    /// From each token's leaving the engine to its reaching the client.
    added: Vec<f64>,
    /// Tokens an event.
    coalesced: f64,
    /// Cores that the server and the clients used.
    cpu: [f64; 2],
}

impl Report {
    pub(crate) const HEAD: &'static str = "streams | tokens/s each: alone, served | first token p50 / p99 | before the engine p50 / p99 \
        | added a token p50 / p99 / max | tokens an event | cores: alone, server, clients";

    /// Joins what clients heard with what the engine said.
    ///
    /// # Errors
    /// If a stream lost tokens.
    pub(crate) fn new(
        args: &Streams,
        alone: Alone,
        heard: &[Heard],
        stamps: &Stamps,
        cpu: [f64; 2],
    ) -> anyhow::Result<Self> {
        let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
        let (mut first, mut before, mut added, mut paces) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut events = 0;
        for one in heard {
            let stamps = stamps.get(&one.session).context("a stream that the engine does not know")?;
            // The first stamp is that of the question, the last token ends the turn without a word.
            let said = &stamps[1..stamps.len() - 1];
            let total = one.events.last().map_or(0, |(count, _)| *count);
            ensure!(
                total == args.tokens as usize && said.len() == total,
                "{total} of {} tokens came",
                said.len()
            );
            before.push(ms(one.sent, stamps[0]));
            first.push(ms(one.sent, one.events[0].1));
            let mut done = 0;
            for (count, at) in &one.events {
                added.extend(said[done..*count].iter().map(|left| ms(*left, *at)));
                done = *count;
            }
            events += one.events.len();
            let (_, last) = one.events[one.events.len() - 1];
            paces.push((total - 1) as f64 / (ms(one.events[0].1, last) / 1e3).max(1e-9));
        }
        let coalesced = added.len() as f64 / events.max(1) as f64;
        let pace = paces.iter().sum::<f64>() / paces.len().max(1) as f64;
        let (first, before, added) = (sorted(first), sorted(before), sorted(added));
        Ok(Self { streams: heard.len(), alone, pace, first, before, added, coalesced, cpu })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let two =
            |values: &[f64]| format!("{:.1} / {:.1}", percentile(values, 0.5), percentile(values, 0.99));
        write!(
            f,
            "{} | {:.1}, {:.1} | {} | {} | {} / {:.1} | {:.2} | {:.2}, {:.2}, {:.2}",
            self.streams,
            self.alone.pace,
            self.pace,
            two(&self.first),
            two(&self.before),
            two(&self.added),
            self.added.last().copied().unwrap_or_default(),
            self.coalesced,
            self.alone.cores,
            self.cpu[0],
            self.cpu[1],
        )
    }
}
