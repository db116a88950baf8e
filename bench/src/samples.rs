//! `verbatim-bench samples`: the rows of one long session.
//!
//! The promise: assembly and encodings are linear in tokens; Miles' samples op, at this shape, is
//! not.

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde_json::Map;
use verbatim_samples::{Envelope, Format, Options, assemble, write_safetensors};
use verbatim_tokens::TokenId;

use crate::args::{Replies, Samples};
use crate::client::Client;
use crate::local::Local;
use crate::service::Service;
use crate::stats::{ms, percentile, sorted, times};

/// Tokens that a turn has beside what the user and the model say: role openers and ends.
const FRAME: u32 = 10;

/// Builds the session, times each step, prints medians and ranges.
pub(crate) async fn run(args: &Samples) -> anyhow::Result<()> {
    let half = args.tokens / args.turns / 2;
    ensure!(half > FRAME, "{} tokens are too few for {} turns", args.tokens, args.turns);
    let service =
        Service::start(&Replies { output_tokens: half, chunk: 0, payload: 0, lineage: args.lineage.clone() })
            .await?;
    let mut local = Local::open(&service.sessions)?;
    for turn in 0..args.turns {
        local.say(&service.words.text(u64::from(turn), (half - FRAME) as usize)).await?;
    }
    println!("one session, {} turns, {} tokens", args.turns, local.conversation.tokens);
    steps(args, &service, &local)?;
    whole(args, &service, &local).await?;
    service.stop().await;
    Ok(())
}

/// The steps, in process.
fn steps(args: &Samples, service: &Service, local: &Local) -> anyhow::Result<()> {
    let options = Options::default();
    let session = &local.session;
    let make = || session.with_forest(|forest| assemble(forest, session.id(), None, &options));
    let rows = make()?.rows;
    let [row] = &rows[..] else { anyhow::bail!("expected one row, there are {}", rows.len()) };
    ensure!(row.tokens.len() == local.conversation.tokens, "the row lacks tokens");
    print("assembly", &times(args.runs, make), None);
    let tokenizer = service.sessions.family().tokenizer();
    let decode = |ids: &[TokenId]| {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| tokenizer.bytes(*id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let envelope = Envelope { session_metadata: Map::new(), empty: None };
    let write = || write_safetensors(&rows, &envelope, decode);
    print("safetensors, text decoded", &times(args.runs, write), Some(write()?.len()));
    for format in [Format::Parquet, Format::Jsonl] {
        let write = || format.write(&rows);
        print(format.extension(), &times(args.runs, write), Some(write()?.len()));
    }
    Ok(())
}

/// The whole op, over HTTP.
async fn whole(args: &Samples, service: &Service, local: &Local) -> anyhow::Result<()> {
    let mut client = Client::connect(&service.address).await?;
    let path = format!("/sessions/{}/samples", local.token.as_str());
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        let body = Bytes::from(format!(r#"{{"format":"{}"}}"#, format.extension()));
        let mut took = Vec::new();
        let mut size = 0;
        for _ in 0..args.runs {
            let began = std::time::Instant::now();
            let reply = client.post(&path, body.clone()).await.context("the samples op failed")?;
            took.push(ms(began.elapsed()));
            size = reply.len();
        }
        print(&format!("op over HTTP, {}", format.extension()), &sorted(took), Some(size));
    }
    Ok(())
}

fn print(step: &str, times: &[f64], size: Option<usize>) {
    let [low, middle, high] = [0.0, 0.5, 1.0].map(|p| percentile(times, p));
    let size = size.map_or(String::new(), |size| format!("  {:.2} MiB", size as f64 / f64::from(1 << 20)));
    println!("  {step:<28}{middle:>9.2} ms  ({low:.2} – {high:.2}){size}");
}
