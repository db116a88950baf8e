//! `verbatim inspect`.

use std::path::Path;
use std::process::ExitCode;

use anstream::println;
use anstyle::{AnsiColor, Style};
use anyhow::{Context, bail, ensure};
use verbatim_samples::{Format, Row};
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::MaskCause;

use super::rows_files;
use crate::args::Inspect;
use crate::model;
use crate::wiring::settings;

/// Prints rows: who made each token, its logprob, its mask.
pub(crate) async fn run(args: &Inspect) -> anyhow::Result<ExitCode> {
    let config = settings(&args.settings, &[])?.config;
    let rows = if ["http://", "https://"].iter().any(|scheme| args.what.starts_with(scheme)) {
        session(&args.what, args.control_key_file.as_deref()).await?
    } else {
        rows_files::read(Path::new(&args.what))?
    };
    let tokenizer = model::tokenizer(&config)?;
    if let Some(at) = args.row {
        ensure!(at < rows.len(), "--row {at}: there are {} rows", rows.len());
    }
    let shown = rows.iter().enumerate().filter(|(at, _)| args.row.is_none_or(|row| row == *at));
    for (at, row) in shown {
        head(at, row);
        if args.tokens {
            list(row, &tokenizer);
        } else {
            text(row, &tokenizer);
        }
        println!();
    }
    legend();
    Ok(ExitCode::SUCCESS)
}

/// The rows of a live session.
async fn session(url: &str, key: Option<&Path>) -> anyhow::Result<Vec<Row>> {
    let request = reqwest::Client::new().post(format!("{}/samples", url.trim_end_matches('/')));
    let request = match key {
        Some(path) => request.bearer_auth(std::fs::read_to_string(path)?.trim()),
        None => request,
    };
    let reply = request
        .json(&serde_json::json!({"format": "jsonl"}))
        .send()
        .await
        .context("cannot reach the server")?;
    if !reply.status().is_success() {
        bail!("{}: {}", reply.status(), reply.text().await?);
    }
    Ok(Format::Jsonl.read(&reply.bytes().await?)?)
}

/// How a token is painted.
fn style(mask: Option<MaskCause>) -> Style {
    match mask {
        None => AnsiColor::Green.on_default().bold(),
        Some(MaskCause::Observation) => Style::new().dimmed(),
        Some(_) => AnsiColor::Yellow.on_default(),
    }
}

fn legend() {
    let (trained, masked, seen) =
        (style(None), style(Some(MaskCause::Truncated)), style(Some(MaskCause::Observation)));
    println!(
        "{trained}sampled and trained{trained:#}  {masked}sampled, no loss{masked:#}  {seen}observed{seen:#}"
    );
}

fn head(at: usize, row: &Row) {
    let reward = row.reward.map_or("none".to_owned(), |reward| format!("{reward:.3}"));
    let group = row.group.as_ref().map_or("none", |group| group.as_str());
    let bold = Style::new().bold();
    println!(
        "{bold}row {at}{bold:#}  session {}  group {group}  leaf {}  {:?}  reward {reward}  weight {:.2}",
        row.session, row.leaf, row.status, row.weight
    );
    println!(
        "  {} tokens: {} before the first sampled, {} trained, {} turns; {:?} logprobs",
        row.tokens.len(),
        row.prompt_length,
        row.trained(),
        row.turns.len(),
        row.logprob_kind
    );
}

/// The row as text, each stretch in its colour.
fn text(row: &Row, tokenizer: &dyn Tokenizer) {
    let mut at = 0;
    let mut line = String::new();
    for (mask, count) in row.mask.iter() {
        let style = style(*mask);
        // Colours end at line ends, so that a pager can show any part.
        for (number, piece) in tokenizer.text(&row.tokens[at..at + count]).split('\n').enumerate() {
            if number > 0 {
                println!("  {line}");
                line.clear();
            }
            line.push_str(&format!("{style}{piece}{style:#}"));
        }
        at += count;
    }
    println!("  {line}");
}

/// One line a token.
fn list(row: &Row, tokenizer: &dyn Tokenizer) {
    println!("  {:>6} {:>7} {:>9} {:>8} {:<13} text", "index", "id", "logprob", "version", "mask");
    for (at, id) in row.tokens.iter().enumerate() {
        let mask = row.mask.get(at).copied().flatten();
        let style = style(mask);
        let logprob = row.logprobs[at].map_or("-".to_owned(), |logprob| format!("{logprob:.4}"));
        let version = row.versions.get(at).and_then(Option::as_ref).map_or("-", |version| version.as_str());
        let why = mask.map_or("trained", |mask| mask.as_str());
        let text = tokenizer.text(&[*id]);
        println!("  {at:>6} {:>7} {logprob:>9} {version:>8} {style}{why:<13}{style:#} {text:?}", id.0);
    }
}
