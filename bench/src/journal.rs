//! `verbatim-bench journal`: what keeping sessions costs.
//!
//! The promise: the levels take turns within each run, each run beginning with another, so that whatever else the machine
//! does meets all of them alike, and ratios are of one run.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tempfile::TempDir;
use verbatim_journal::{Level, Options, Recovery};
use verbatim_session::Sessions;

use crate::args::Journal;
use crate::assets;
use crate::engine::MockEngine;
use crate::load::{Outcome, once};
use crate::local::Local;
use crate::process::Server;
use crate::service::{Kept, Service, settings};
use crate::stats::{median, percentile};
use crate::words::Words;

const LEVELS: [(&str, Option<Level>); 3] =
    [("off", None), ("process", Some(Level::Process)), ("disk", Some(Level::Disk))];

/// Measures a turn at each level, then what is written and how it comes back.
pub(crate) async fn run(args: &Journal) -> anyhow::Result<()> {
    let words = Words::new(&*assets::tokenizer()?)?;
    let mut outcomes: [Vec<Outcome>; 3] = Default::default();
    for run in 0..args.load.runs as usize {
        for nth in run..run + LEVELS.len() {
            let nth = nth % LEVELS.len();
            let ((_, level), outcomes) = (LEVELS[nth], &mut outcomes[nth]);
            let folder = tempfile::tempdir()?;
            let kept = level.map(|level| Kept { folder: folder.path().to_owned(), level });
            let server = Server::keeping(&args.load.replies, kept.as_ref())?;
            outcomes.push(once(&args.load, &words, server).await?);
        }
    }
    println!(
        "{} sessions, {} + {} tokens a turn; medians of {} runs, ratios to the same run without a journal\n",
        args.load.sessions, args.load.input_tokens, args.load.replies.output_tokens, args.load.runs
    );
    println!("level     turns/s  ratio  CPU a turn, us  ratio  p50, ms  p99, ms");
    let figure = |outcomes: &[Outcome], of: fn(&Outcome) -> f64| median(outcomes.iter().map(of));
    let ratio = |outcomes: &[Outcome], base: &[Outcome], of: fn(&Outcome) -> f64| {
        median(outcomes.iter().zip(base).map(|(outcome, base)| of(outcome) / of(base)))
    };
    for ((name, _), of) in LEVELS.iter().zip(&outcomes) {
        println!(
            "{name:<8}{:>9.0}{:>7.2}{:>16.0}{:>7.2}{:>9.2}{:>9.2}",
            figure(of, Outcome::turns_a_second),
            ratio(of, &outcomes[0], Outcome::turns_a_second),
            figure(of, Outcome::cpu_a_turn),
            ratio(of, &outcomes[0], Outcome::cpu_a_turn),
            figure(of, |outcome| percentile(&outcome.latencies, 0.5)),
            figure(of, |outcome| percentile(&outcome.latencies, 0.99)),
        );
    }
    restart(args).await
}

/// Fills a journal with sessions, and brings them back.
async fn restart(args: &Journal) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let kept = Kept { folder: folder.path().to_owned(), level: Level::Process };
    let service = Service::keeping(&args.load.replies, &kept).await?;
    for session in 0..args.back {
        let mut local = Local::open(&service.sessions)?;
        for turn in 0..args.back_turns {
            let nth = session as usize * args.back_turns as usize + turn as usize;
            local.say(&service.words.text(nth as _, args.load.input_tokens as usize)).await?;
        }
    }
    service.sessions.settled().await?;
    let image = image(folder.path())?;
    service.stop().await;
    let recovery = Recovery::read(image.path())?;
    let entries = recovery.lines.values().flatten();
    let (bytes, count) = entries.fold((0, 0), |(bytes, count), entry| (bytes + entry.body.len(), count + 1));
    drop(recovery);
    let tokens = args.back as usize
        * args.back_turns as usize
        * (args.load.input_tokens + args.load.replies.output_tokens) as usize;

    let tokenizer = assets::tokenizer()?;
    let (words, family) = (Words::new(&*tokenizer)?, assets::family(tokenizer)?);
    let engine = Arc::new(MockEngine::new(&*family, &words, &args.load.replies)?);
    let settings = settings(&args.load.replies)?;
    let began = Instant::now();
    let (journal, mut recovery) = verbatim_journal::Journal::open(image.path(), Options::default())?;
    let observers = verbatim_events::Observers::default();
    let (_sessions, restored) =
        Sessions::kept(family, engine, observers, settings, Some((journal, &mut recovery)));
    let took = began.elapsed().as_secs_f64();
    println!(
        "\n{} sessions of {} turns: {:.1} bytes are written a token, {:.0} a turn; they are back in {:.0} ms, {:.0} ms for 1,000 sessions",
        restored.sessions,
        args.back_turns,
        bytes as f64 / tokens as f64,
        bytes as f64 / count as f64,
        took * 1e3,
        took * 1e6 / f64::from(args.back),
    );
    Ok(())
}

/// The folder as a server that was killed now would leave it.
fn image(folder: &Path) -> anyhow::Result<TempDir> {
    let image = tempfile::tempdir()?;
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        std::fs::copy(file.path(), image.path().join(file.file_name())).context("cannot copy the journal")?;
    }
    Ok(image)
}
