//! `verbatim-bench memory`: what open sessions hold, counted at the allocator.
//!
//! The promise measured: at most 9 bytes a stored token, text apart. What is counted is what lives,
//! in bytes as they were asked for; the client's side is gone when it is.

use std::alloc::System;
use std::sync::Arc;

use anyhow::ensure;
use cap::Cap;
use verbatim_forest::Forest;
use verbatim_session::Session;

use crate::args::Memory;
use crate::local::Local;
use crate::service::Service;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Grows the sessions, lets go of everything but them, counts.
pub(crate) async fn run(args: &Memory) -> anyhow::Result<()> {
    let service = Service::start(&args.replies).await?;
    let warm = grow(args, &service, 0).await?;
    let before = HEAP.allocated();
    let sessions = grow(args, &service, 1).await?;
    let held = HEAP.allocated().saturating_sub(before);
    let sum =
        |of: fn(&Forest) -> usize| -> usize { sessions.iter().map(|session| session.with_forest(of)).sum() };
    let (tokens, text) = (sum(Forest::stored_tokens), sum(text));
    ensure!(tokens > 0, "nothing was stored");
    let each = |bytes: usize| bytes as f64 / tokens as f64;
    println!(
        "{} sessions x {} turns, {} + {} tokens a turn",
        args.sessions, args.turns, args.input_tokens, args.replies.output_tokens
    );
    println!("  tokens stored              {tokens:>12}");
    println!("  bytes held                 {held:>12}");
    println!("  bytes a token              {:>12.2}", each(held));
    println!("  of them text               {:>12.2}", each(text));
    println!("  without text               {:>12.2}", each(held.saturating_sub(text)));
    // Ids take 4 bytes, logprobs 4 more where a token was sampled; the rest is a turn's own.
    let turns = (args.sessions * args.turns) as usize;
    let plain = 4 * tokens + 4 * turns * args.replies.output_tokens as usize;
    println!("  bytes a turn beside those  {:>12}", held.saturating_sub(text + plain) / turns);
    drop(warm);
    service.stop().await;
    Ok(())
}

/// Sessions with their turns taken, and nothing of their clients.
async fn grow(args: &Memory, service: &Service, part: u64) -> anyhow::Result<Vec<Arc<Session>>> {
    let mut sessions = Vec::with_capacity(args.sessions as usize);
    for number in 0..args.sessions {
        let mut local = Local::open(&service.sessions)?;
        for turn in 0..args.turns {
            let seed = (part << 48) | (u64::from(number) << 24) | u64::from(turn);
            local.say(&service.words.text(seed, args.input_tokens as usize)).await?;
        }
        sessions.push(local.session);
    }
    Ok(sessions)
}

/// Bytes of all that was said.
fn text(forest: &Forest) -> usize {
    forest.nodes().flat_map(|(_, node)| node.messages()).map(|message| message.content.text().len()).sum()
}
