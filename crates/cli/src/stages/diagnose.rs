//! `verbatim diagnose`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use verbatim_stages::diagnose::diagnose;

use super::bundle::{EVENTS, events};
use super::check::of_rollout;
use super::tell::tell;
use crate::args::{Diagnose, Settings};

/// Names the first broken link of a run. The exit code is 0 only if none is.
pub(crate) fn run(args: &Diagnose) -> anyhow::Result<ExitCode> {
    args.reported.can_be_told()?;
    ensure!(args.run.exists(), "{} is not there", args.run.display());
    let path = log_of(&args.run)?;
    ensure!(
        path.is_file(),
        "there is no event log at {}: set log.events in the rollout file, run it again, and diagnose that file",
        path.display()
    );
    let diagnosis = diagnose(&events(&path)?);
    tell(&args.reported, &diagnosis.page(), &diagnosis)?;
    Ok(if diagnosis.first().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The event log of a run: itself, that of its folder, or the one that its rollout file names.
fn log_of(run: &Path) -> anyhow::Result<PathBuf> {
    if run.is_dir() {
        return Ok(run.join(EVENTS));
    }
    if run.extension().is_some_and(|extension| extension == "toml") {
        let config = of_rollout(run, &Settings::default())?.config;
        return config.log.events.with_context(|| format!("{}: log.events is not set", run.display()));
    }
    Ok(run.to_owned())
}
