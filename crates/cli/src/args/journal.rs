//! The arguments of `verbatim journal`.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

/// What can be done about journals.
#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Say what a journal holds: its sessions, how many turns and tokens each has, what is damaged.
    Inspect(Journal),
    /// Read every record and every payload. The exit code is 0 only if all is as it was written.
    Verify(Journal),
}

/// `verbatim journal …`.
#[derive(Debug, Arguments)]
pub(crate) struct Journal {
    /// The folder that `serve --journal` was given. It is only read, also while a server writes it.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
