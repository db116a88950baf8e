//! `verbatim bridge`.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use serde_json::json;
use verbatim_stages::assess::{Assessment, Readiness};
use verbatim_stages::bridge::{Adapter, Choice, choices, launch, rollout};
use verbatim_stages::lineage::Declared;
use verbatim_stages::page::{Page, Part};
use verbatim_stages::recording::{Recording, read};

use super::assess::{Assessing, assessment};
use crate::args::{Assess, Bridge, Settings};
use crate::telemetry::Telemetry;
use crate::wiring::settings;

/// Writes an adapter, and checks it by running one task. The exit code is 0 only if the agent is ready behind it.
pub(crate) async fn run(args: Bridge) -> anyhow::Result<ExitCode> {
    ensure!(!args.output.exists(), "{} is there already: an adapter is written once", args.output.display());
    let config = settings(&args.settings, &[])?.config;
    let _telemetry = Telemetry::start(&config.log)?;
    let recordings = recordings(&args).await?;
    let declared = if args.branches { Declared::Branches } else { Declared::Nothing };
    let mut chosen = choices(&recordings, declared)?;
    ensure!(
        args.advantage.is_some() || !chosen.iter().any(|choice| choice.setting == "reward.contexts"),
        "several contexts need a function that shares their credit: --advantage PACKAGE.MODULE:FUNCTION"
    );
    let kept = ask(&args, &chosen)?;
    chosen.retain(|choice| choice.changes.is_none() || kept.contains(&choice.setting));

    let parent = args.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let part = tempfile::Builder::new().prefix(".bridge-").tempdir_in(parent)?;
    let tasks = tasks(&args, part.path())?;
    let adapter = Adapter {
        command: whole(&args.command),
        cwd: std::env::current_dir()?.to_string_lossy().into_owned(),
        mapped: mapped(&args.map)?,
        tasks,
        columns: (args.input_key.clone(), args.metadata_key.clone()),
        reward: args.reward.clone(),
        advantage: args.advantage.clone(),
        model: config.engine.model.clone(),
        engine: serde_json::to_value(config.engine.kind)?.as_str().unwrap_or("embedded").to_owned(),
    };
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

/// Recordings of the agent: those that were given, else one of a run.
async fn recordings(args: &Bridge) -> anyhow::Result<Vec<Recording>> {
    let read_one = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        read(&text).with_context(|| path.display().to_string())
    };
    if !args.recording.is_empty() {
        return args.recording.iter().map(read_one).collect();
    }
    let asked = Assess {
        command: args.command.clone(),
        prompt: args.prompt.clone(),
        branches: args.branches,
        limit: args.limit,
        tasks: 1,
        settings: args.settings.clone(),
        ..Assess::default()
    };
    let Assessing { runs, .. } = assessment(&asked).await?;
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
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
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

/// One task through what was written.
async fn tried(args: &Bridge, rollout: &Path) -> anyhow::Result<Assessment> {
    // Of the flags only those that say what samples: the rest is in the file now.
    let flags = Settings { config: None, ..args.settings.clone() };
    let asked = Assess {
        rollout: Some(rollout.to_owned()),
        tasks: 1,
        limit: args.limit,
        settings: flags,
        ..Assess::default()
    };
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
    let open = tried.adaptations.iter().filter(|found| found.need != verbatim_stages::assess::Need::Noted);
    Page::new("Stage B: Bridge")
        .with(Part::Fields(fields))
        .listing("Choices", listed(chosen))
        .listing("Open", open.map(|found| ("open".to_owned(), found.line())).collect())
}
