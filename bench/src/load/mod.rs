//! `verbatim-bench load`: many agents at once against one server.
//!
//! The promise: CPU and memory are those of a process that is nothing but the server; the
//! generator's own work is on the same machine and is in the turns a second.

mod episode;
mod outcome;
mod watch;

use std::cell::Cell;
use std::time::Instant;

use anyhow::ensure;
use futures::future::try_join_all;

use crate::args::Load;
use crate::assets;
use crate::process::Server;
use crate::words::Words;
use episode::Episode;
pub(crate) use outcome::Outcome;

/// Turns of the sessions that come before those measured: they load what loads once.
const WARM_UP_TURNS: u32 = 4;

/// Measures that often, each time a new server, and prints each run and the ranges.
pub(crate) async fn run(args: &Load) -> anyhow::Result<()> {
    let words = Words::new(&*assets::tokenizer()?)?;
    println!(
        "{} sessions x {} turns x {} rounds, {} + {} tokens a turn, {}, {}",
        args.sessions,
        args.turns,
        args.rounds,
        args.input_tokens,
        args.replies.output_tokens,
        if args.stream { "streamed" } else { "not streamed" },
        match args.replies.chunk {
            0 => "the engine gives a reply at once".to_owned(),
            chunk => format!("the engine gives {chunk} tokens at a time"),
        },
    );
    let mut outcomes = Vec::new();
    for run in 1..=args.runs {
        let outcome = once(args, &words, Server::start(&args.replies)?).await?;
        println!("\nrun {run} of {}\n{outcome}", args.runs);
        outcomes.push(outcome);
    }
    if outcomes.len() > 1 {
        println!("\nlowest to highest of {} runs\n{}", outcomes.len(), Outcome::ranges(&outcomes));
    }
    Ok(())
}

/// One server's life: rounds of the same shape, one after another.
pub(crate) async fn once(args: &Load, words: &Words, server: Server) -> anyhow::Result<Outcome> {
    let warm_up = Load { turns: WARM_UP_TURNS, ..args.clone() };
    let mut outcome = Outcome::default();
    round(&warm_up, words, &server, &mut outcome).await?;

    server.forget_peak();
    let mut outcome = Outcome { resident: server.resident()?, ..Outcome::default() };
    for _ in 0..args.rounds {
        round(args, words, &server, &mut outcome).await?;
    }
    outcome.peak = server.peak()?;
    let turns = u64::from(args.sessions) * u64::from(args.turns) * u64::from(args.rounds);
    ensure!(outcome.latencies.len() as u64 == turns, "some turns were not taken");
    outcome.sort();
    Ok(outcome)
}

/// Opens the sessions; takes all their turns, which alone are timed; fetches their rows one by one;
/// closes them.
async fn round(args: &Load, words: &Words, server: &Server, outcome: &mut Outcome) -> anyhow::Result<()> {
    let mut episodes = open(args, server).await?;
    let (resident, cpu) = (server.resident()?, server.cpu()?);
    let stored = Cell::new(0);
    let began = Instant::now();
    let chats = try_join_all(episodes.iter_mut().map(|episode| episode.chat(args, words, &stored)));
    let (latencies, growth) = watch::memory(server, &stored, chats).await?;
    outcome.wall += began.elapsed().as_secs_f64();
    outcome.cpu += server.cpu()? - cpu;
    outcome.latencies.extend(latencies.into_iter().flatten());
    outcome.committed += stored.get();
    if outcome.stored == 0 {
        // Later rounds are served from memory that the first one left free.
        outcome.stored = stored.get();
        outcome.grown = server.resident()?.saturating_sub(resident);
        outcome.growth = growth;
    }
    for episode in &mut episodes {
        for _ in 0..32_u32.div_ceil(args.sessions) {
            outcome.samples.push(episode.samples().await?);
        }
    }
    for episode in &mut episodes {
        episode.close().await?;
    }
    Ok(())
}

async fn open(args: &Load, server: &Server) -> anyhow::Result<Vec<Episode>> {
    try_join_all((0..args.sessions).map(|number| Episode::open(&server.address, number, args.stream))).await
}
