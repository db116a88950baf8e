//! `verbatim demonstrate`.

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use verbatim_stages::check::{Checked, Hashes, Verdict};
use verbatim_stages::demonstrate::{Demonstration, Left, Proof};

use super::bundle::{self, EVENTS, EVIDENCE, Evidence, ROLLOUT, ROWS};
use super::check::of_rollout;
use super::hashes::hashes;
use super::machine::{MARK, folders, marked};
use super::resolved::resolved;
use super::state::{Assessed, CHECKED_FOR, State, stale};
use super::tell::write;
use crate::args::Demonstrate;
use crate::config::Config;
use crate::{agent, model};

/// How long what a job started may take to be gone once the job is.
const SETTLED: Duration = Duration::from_secs(10);

/// What `verbatim demonstrate` came to, for `verbatim stage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Demonstrated {
    /// In all.
    pub(super) verdict: Verdict,
    /// Where its bundle is.
    pub(super) bundle: PathBuf,
    /// What it was given for.
    pub(super) hashes: Hashes,
    /// What is open, each with its way out.
    #[serde(default)]
    pub(super) open: Vec<String>,
}

/// Runs a checked rollout and judges it, or judges a bundle again. The exit code is 0 only for PASS.
pub(crate) async fn run(args: Demonstrate) -> anyhow::Result<ExitCode> {
    let (demonstration, folder) = match (&args.replay, &args.rollout) {
        (Some(folder), _) => (replay(folder)?, folder.clone()),
        (None, Some(rollout)) => anew(&args, rollout).await?,
        (None, None) => bail!("give a rollout file, or --replay BUNDLE"),
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&demonstration)?),
        false => print!("{}", demonstration.page().text()),
    }
    eprintln!("bundle: {}", folder.display());
    Ok(if demonstration.verdict == Verdict::Pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn replay(folder: &Path) -> anyhow::Result<Demonstration> {
    bundle::unseal(folder)?;
    let told: Demonstration = bundle::read(folder, "report.json")?;
    let evidence: Evidence = bundle::read(folder, EVIDENCE)?;
    let found = bundle::judge(folder, &evidence)?;
    ensure!(found == told, "{}: its evidence does not give the verdicts of its report", folder.display());
    Ok(found)
}

async fn anew(args: &Demonstrate, rollout: &Path) -> anyhow::Result<(Demonstration, PathBuf)> {
    let config = of_rollout(rollout, &args.settings)?.config;
    ensure!(
        config.agent.is_some() && config.dataset.is_some(),
        "{}: sections [dataset] and [agent] must be there",
        rollout.display()
    );
    let state = State::of(rollout);
    let loaded = model::load(&config).await?;
    let hashes = hashes(&config, Some(loaded.family.as_ref()))?;
    drop(loaded);
    let checked: Option<Checked> = state.read("check");
    let forced = match (allowed(checked.as_ref(), &hashes), args.force) {
        (Ok(()), _) => None,
        (Err(why), true) => Some(why),
        (Err(why), false) => bail!("{why}: run `verbatim check {}` first", rollout.display()),
    };
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => state.folder()?.join("bundle"),
    };
    ensure!(
        args.output.is_none() || !folder.exists(),
        "{} is there already: a bundle is written once",
        folder.display()
    );
    let part = std::path::absolute(&folder)?.with_extension("part");
    fresh(&part)?;
    std::fs::create_dir(part.join(ROWS))?;
    let ran = Ran { args, config: &config, folder: &part };
    let (failed, left) = ran.job().await?;
    if let Some(kept) = &args.rows {
        keep(kept, &part.join(ROWS))?;
    }
    let proof = proof(&config, checked.as_ref(), state.read::<Assessed>("assess").as_ref(), left);
    let evidence = Evidence { proof, forced, failed, hashes: hashes.clone() };
    let demonstration = bundle::judge(&part, &evidence)?;
    let page = demonstration.page();
    let told = serde_json::to_string_pretty(&demonstration)?;
    for name in ["report.json", "report.md", "report.html"] {
        write(&part.join(name), &page, &told)?;
    }
    let documents = [
        (EVIDENCE, serde_json::to_value(&evidence)?),
        ("check.json", serde_json::to_value(&checked)?),
        ("assess.json", state.read::<serde_json::Value>("assess").unwrap_or_default()),
        ("versions.json", versions(&config)),
    ];
    for (name, document) in documents {
        std::fs::write(part.join(name), serde_json::to_string_pretty(&document)?)?;
    }
    bundle::seal(&part)?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::rename(&part, &folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let demonstrated = Demonstrated {
        verdict: demonstration.verdict,
        // `verbatim stage` may be called from elsewhere.
        bundle: std::path::absolute(&folder)?,
        hashes,
        open: demonstration.open(),
    };
    state.write("demonstrate", &demonstrated)?;
    Ok((demonstration, folder))
}

/// Whether a check allows a run, or why it does not.
pub(super) fn allowed(checked: Option<&Checked>, now: &Hashes) -> Result<(), String> {
    let Some(checked) = checked else { return Err("it was never checked".to_owned()) };
    let outdated = stale(&checked.hashes, now, &CHECKED_FOR);
    if !outdated.is_empty() {
        return Err(format!("its check is stale ({} changed)", outdated.join(", ")));
    }
    match checked.is_ready() {
        true => Ok(()),
        false => Err(format!("its check says {}", checked.verdict.name())),
    }
}

fn proof(config: &Config, checked: Option<&Checked>, assessed: Option<&Assessed>, left: Left) -> Proof {
    let load = checked.map(|checked| checked.load);
    // Where the check had to look at widths, the run must show that they carry the load.
    let wide = checked.and_then(|checked| checked.parts.scale.first()).map(|line| line.verdict);
    Proof {
        barrier: config.rollout.barrier_seconds > 0,
        tools: assessed.map(|found| found.traffic.tools),
        several: config.reward.contexts == "several",
        filters: config.reward.filter.is_some(),
        mode: config.rollout.mode.clone(),
        evals: !config.eval.is_empty(),
        soak: load.filter(|_| wide != Some(Verdict::NotApplicable)).map(|load| load.train),
        rows: None,
        left,
    }
}

fn versions(config: &Config) -> serde_json::Value {
    json!({
        "verbatim": env!("CARGO_PKG_VERSION"),
        "system": std::env::consts::OS,
        "machine": std::env::consts::ARCH,
        "engine": config.engine.kind,
        "model": config.engine.model,
    })
}

/// An empty folder.
fn fresh(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Copies the rows files that a job kept.
fn keep(from: &Path, to: &Path) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(from).with_context(|| format!("--rows: {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// A run under observation.
struct Ran<'r> {
    args: &'r Demonstrate,
    config: &'r Config,
    folder: &'r Path,
}

impl Ran<'_> {
    /// Runs the job to its end: how it failed, if it did, and what is left of it.
    async fn job(&self) -> anyhow::Result<(Option<String>, Left)> {
        let rollout = self.folder.join(ROLLOUT);
        let mut config = resolved(self.config)?;
        config.log.events = Some(self.folder.join(EVENTS));
        let temporary = tempfile::tempdir()?;
        // What a journal holds is of other runs.
        config.journal.folder = config.journal.folder.map(|_| temporary.path().join("journal"));
        // A job that goes to its own store for rows says with --rows where they are.
        if self.args.job.is_none() || config.rollout.sink != "store" {
            config.rollout.output = self.folder.join(ROWS);
        }
        if self.args.job.is_none() {
            config.rollout.sink = "auto".to_owned();
        }
        std::fs::write(&rollout, toml::to_string(&config)?).context("cannot write the configuration")?;
        let mark = format!("{:016x}", rand::random::<u64>());
        let before = self.used().await;
        let this = std::env::current_exe()?;
        let mut job = match &self.args.job {
            Some(line) => {
                let mut job = tokio::process::Command::new("/bin/bash");
                job.args(["-c", line]);
                job
            }
            None => {
                let mut job = tokio::process::Command::new(&this);
                job.arg("run").arg(&rollout).args(["--limit", &self.args.tasks.to_string()]);
                job
            }
        };
        job.env("VERBATIM_ROLLOUT", &rollout)
            .env("VERBATIM_ROWS", self.folder.join(ROWS))
            .env("VERBATIM_BIN", &this)
            .env("TMPDIR", temporary.path())
            .env(MARK, &mark)
            .stdin(Stdio::null())
            // The report is what this command prints.
            .stdout(std::io::stderr())
            .kill_on_drop(true);
        let failed = match job.status().await {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("it ended with {status}")),
            Err(error) => Some(format!("it cannot be run: {error}")),
        };
        let until = tokio::time::Instant::now() + SETTLED;
        while marked(&mark).is_some_and(|left| left > 0) && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let left = Left {
            processes: marked(&mark),
            folders: folders(temporary.path()),
            slots: before.zip(self.used().await),
        };
        Ok((failed, left))
    }

    /// Slots in use at the agent's service, if it has one and says.
    async fn used(&self) -> Option<usize> {
        let named = self.config.agent.as_ref().filter(|agent| agent.url.is_some())?;
        let slots = agent::slots(named).await.ok()?;
        Some(slots.total.saturating_sub(slots.free))
    }
}
