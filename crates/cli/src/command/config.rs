//! `verbatim config`.

use std::process::ExitCode;

use toml::{Table, Value};

use crate::args::Settings;
use crate::wiring::settings;

/// Prints every setting as TOML, each with where it came from.
pub(crate) fn run(flags: &Settings) -> anyhow::Result<ExitCode> {
    let layered = settings(flags, &[])?;
    let table = Table::try_from(&layered.config)?;
    for (section, value) in &table {
        println!("[{section}]");
        if let Value::Table(inner) = value {
            for (name, value) in inner {
                let origin = layered.origin(&format!("{section}.{name}"));
                println!("{:40} # {origin}", format!("{name} = {value}"));
            }
        }
        println!();
    }
    Ok(ExitCode::SUCCESS)
}
