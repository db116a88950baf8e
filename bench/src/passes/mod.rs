//! `verbatim-bench passes`: what of a turn grows with history.
//!
//! The promise measured: four linear passes (receive the body; split it into messages and hash
//! their bytes; gather the prompt's ids; write the ids to the engine) and nothing else.

mod measure;
mod table;

use anyhow::ensure;

use crate::args::Passes;
use crate::client::Client;
use crate::local::Local;
use crate::service::Service;

/// Grows one session, measures at each length, prints the table.
pub(crate) async fn run(args: &Passes) -> anyhow::Result<()> {
    ensure!(args.tokens.is_sorted(), "--tokens: lengths must ascend");
    let service = Service::start(&args.replies).await?;
    let mut client = Client::connect(&service.address).await?;
    let mut local = Local::open(&service.sessions)?;
    let mut said = 0;
    let mut rows = Vec::new();
    for tokens in &args.tokens {
        while local.conversation.tokens < *tokens as usize {
            said += 1;
            local.say(&service.words.text(said, args.input_tokens as usize)).await?;
        }
        rows.push(measure::at(args, &service, &mut client, &local).await?);
    }
    println!(
        "one session, {} + {} tokens a turn, median of {} runs at each length, milliseconds\n",
        args.input_tokens, args.replies.output_tokens, args.runs
    );
    println!("{}", table::table(&rows));
    service.stop().await;
    Ok(())
}
