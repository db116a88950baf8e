//! `verbatim bridge`.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use serde_json::json;
use verbatim_stages::assess::{Assessment, Need, Readiness};
use verbatim_stages::bridge::{Adapter, Choice, choices, launch, rollout};
use verbatim_stages::lineage::Declared;
use verbatim_stages::page::{Page, Part};
use verbatim_stages::recording::{Recording, read};

use super::assess::{Assessing, assessment};
use crate::args::{Assess, Bridge};
use crate::config::{Layered, Origin};
use crate::telemetry::Telemetry;
use crate::wiring::{quoted, settings};

/// Writes an adapter, and checks it by running one task. The exit code is 0 only if the agent is ready behind it.
pub(crate) async fn run(args: Bridge) -> anyhow::Result<ExitCode> {
    ensure!(!args.output.exists(), "{} is there already: an adapter is written once", args.output.display());
    let layered = settings(&args.settings, &[])?;
    let _telemetry = Telemetry::start(&layered.config.log)?;
    let parent =
        args.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let part = tempfile::Builder::new().prefix(".bridge-").tempdir_in(parent)?;
    let adapter = Adapter {
        command: whole(&args.command),
        cwd: std::env::current_dir()?.to_string_lossy().into_owned(),
        mapped: mapped(&args.map)?,
        tasks: tasks(&args, part.path())?,
        columns: (args.input_key.clone(), args.metadata_key.clone()),
        reward: args.reward.clone(),
        advantage: args.advantage.clone(),
        settings: given(&layered)?,
    };
    let recordings = recordings(&args, &adapter, part.path()).await?;
    let declared = if args.branches { Declared::Branches } else { Declared::Nothing };
    let mut chosen = choices(&recordings, declared)?;
    ensure!(
        args.advantage.is_some() || !chosen.iter().any(|choice| choice.setting == "reward.contexts"),
        "several contexts need a function that shares their credit: --advantage PACKAGE.MODULE:FUNCTION"
    );
    let kept = ask(&args, &chosen)?;
    chosen.retain(|choice| choice.changes.is_none() || kept.contains(&choice.setting));
    write(part.path(), &adapter, &chosen)?;
    let tried = tried(&args, &part.path().join("rollout.toml")).await?;
    let turns: usize = tried.runs.iter().map(|run| run.lineage.turns).sum();
    if turns == 0 {
        print!("{}", tried.page().text());
        bail!("the agent behind the adapter had no turn; nothing was written");
    }
    // What the trial left is of this folder's present place.
    let _ = std::fs::remove_dir_all(part.path().join(".verbatim"));
    let part = part.keep();
    std::fs::set_permissions(&part, std::fs::Permissions::from_mode(0o755))?;
    std::fs::rename(&part, &args.output)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    print!("{}", report(&args.output, &chosen, &tried).text());
    Ok(if tried.readiness == Readiness::Ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The settings that were given by flags, and what samples whether it was or not.
fn given(layered: &Layered) -> anyhow::Result<Vec<(String, String)>> {
    let all = layered.each()?.into_iter();
    let is_kept = |name: &str, origin: &Origin| {
        *origin == Origin::Flag || ["engine.kind", "engine.model"].contains(&name)
    };
    Ok(all.filter(|(name, _, origin)| is_kept(name, origin)).map(|(name, value, _)| (name, value)).collect())
}

/// Recordings of the agent: those that were given, else one of a run on the first task.
async fn recordings(args: &Bridge, adapter: &Adapter, folder: &Path) -> anyhow::Result<Vec<Recording>> {
    let read_one = |path: &PathBuf| {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        read(&text).with_context(|| path.display().to_string())
    };
    if !args.recording.is_empty() {
        return args.recording.iter().map(read_one).collect();
    }
    let tasks = folder.join(&adapter.tasks);
    let mut flags = args.settings.clone();
    flags.set.push(format!("dataset.path={}", quoted(&tasks.to_string_lossy())));
    flags.set.push(format!("dataset.input_key={}", quoted(&args.input_key)));
    flags.set.extend(args.metadata_key.iter().map(|key| format!("dataset.metadata_key={}", quoted(key))));
    let asked = Assess {
        // As it will be launched.
        command: vec![launch(adapter)],
        branches: args.branches,
        limit: args.limit,
        settings: flags,
        ..Assess::default()
    };
    let Assessing { runs, .. } = assessment(&asked).await?;
    if let Some(failed) = runs
        .iter()
        .find_map(|(_, recording, failed)| failed.as_ref().filter(|_| recording.exchanges.is_empty()))
    {
        bail!("the agent asked for no turn: {failed}; nothing was written");
    }
    Ok(runs.into_iter().map(|(_, recording, _)| recording).collect())
}

/// Asks about each choice that changes what rows mean: which are taken.
fn ask(args: &Bridge, chosen: &[Choice]) -> anyhow::Result<Vec<&'static str>> {
    let mut kept = Vec::new();
    for (choice, changes) in chosen.iter().filter_map(|choice| Some((choice, choice.changes.as_ref()?))) {
        let setting = choice.setting;
        if args.without.iter().any(|without| without == setting) {
            continue;
        }
        if args.yes {
            kept.push(setting);
            continue;
        }
        ensure!(
            std::io::stdin().is_terminal(),
            "{setting} = {}: {}; {changes}. Say --yes, or --without {setting}",
            choice.value,
            choice.why
        );
        eprint!("{setting} = {}\n  because {}\n  {changes}\nTake it? [y/N] ", choice.value, choice.why);
        std::io::stderr().flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if matches!(answer.trim(), "y" | "Y" | "yes") {
            kept.push(setting);
        }
    }
    Ok(kept)
}

/// The command with the whole path of every word that is a file here: the agent then runs wherever it is started.
fn whole(command: &[String]) -> Vec<String> {
    let one = |word: &String| match std::path::absolute(word) {
        Ok(path) if path.is_file() => path.to_string_lossy().into_owned(),
        _ => word.clone(),
    };
    match command {
        [_line] => command.to_vec(),
        words => words.iter().map(one).collect(),
    }
}

fn mapped(map: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let one = |pair: &String| match pair.split_once('=') {
        Some((own, ours)) if is_name(own) && is_name(ours) => Ok((own.to_owned(), ours.to_owned())),
        _ => bail!("--map {pair}: expected OWN=OURS, as in MY_URL=OPENAI_BASE_URL"),
    };
    map.iter().map(one).collect()
}

/// The dataset as the rollout file names it: the user's, or one task of the prompt.
fn tasks(args: &Bridge, folder: &Path) -> anyhow::Result<String> {
    if let Some(path) = &args.tasks {
        ensure!(path.is_file(), "--tasks: {} is not there", path.display());
        return Ok(std::path::absolute(path)?.to_string_lossy().into_owned());
    }
    let line = json!({args.input_key.as_str(): args.prompt});
    std::fs::write(folder.join("tasks.jsonl"), format!("{line}\n"))?;
    Ok("tasks.jsonl".to_owned())
}

fn write(folder: &Path, adapter: &Adapter, chosen: &[Choice]) -> anyhow::Result<()> {
    let script = folder.join("launch.sh");
    std::fs::write(&script, launch(adapter))?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    std::fs::write(folder.join("rollout.toml"), rollout(adapter, chosen))?;
    let page = Page::new("Choices").listing("What was chosen, and why", listed(chosen));
    std::fs::write(folder.join("choices.md"), page.markdown())?;
    Ok(())
}

fn listed(chosen: &[Choice]) -> Vec<(String, String)> {
    let line = |choice: &Choice| {
        let changes = choice.changes.as_ref().map_or(String::new(), |changes| format!("; {changes}"));
        (choice.setting.to_owned(), format!("{}: {}{changes}", choice.value, choice.why))
    };
    chosen.iter().map(line).collect()
}

/// One task through what was written, and nothing but what was written.
async fn tried(args: &Bridge, rollout: &Path) -> anyhow::Result<Assessment> {
    let asked = Assess { rollout: Some(rollout.to_owned()), limit: args.limit, ..Assess::default() };
    Ok(assessment(&asked).await?.assessment)
}

fn report(output: &Path, chosen: &[Choice], tried: &Assessment) -> Page {
    let file = output.join("rollout.toml").display().to_string();
    let fields = [
        ("Current stage", "B".to_owned()),
        ("Stage name", "Bridge".to_owned()),
        ("Written", output.display().to_string()),
        ("One task behind it", tried.readiness.name().to_owned()),
        ("Next allowed stage", format!("A, on the integrated agent: verbatim assess {file}")),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), vec![value])).to_vec();
    let open = tried.adaptations.iter().filter(|found| found.need != Need::Noted);
    Page::new("Stage B: Bridge")
        .with(Part::Fields(fields))
        .listing("Choices", listed(chosen))
        .listing("Open", open.map(|found| ("open".to_owned(), found.line())).collect())
}
