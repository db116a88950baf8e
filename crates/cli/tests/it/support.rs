//! Running the binary, with agents that are shell scripts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use verbatim_samples::{Format, Row};

/// The binary, its cache the checkout's own.
pub(crate) fn verbatim() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbatim"));
    let cache = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache"));
    if std::env::var_os("VERBATIM_CACHE").is_none() {
        command.env("VERBATIM_CACHE", cache);
    }
    command.env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// The checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A rollout in a folder of its own.
pub(crate) struct Rollout {
    pub(crate) folder: TempDir,
}

/// An agent that takes one turn and says that its reward is the task's.
pub(crate) const GOOD: &str = r#"
curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
  -d '{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}' > reply.json || exit 1
echo '{"reward": 1, "metadata": {"seen": true}}' > "$VERBATIM_OUTPUT_JSON"
"#;

impl Rollout {
    /// `tasks` tasks in groups of `size`, on the simulated engine.
    pub(crate) fn new(script: &str, tasks: usize, size: usize, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rows: String = (0..tasks)
            .map(|task| format!("{{\"input\": \"task {task}\", \"metadata\": {{\"number\": {task}}}}}\n"))
            .collect();
        std::fs::write(folder.path().join("tasks.jsonl"), rows).unwrap();
        std::fs::write(folder.path().join("agent.sh"), script).unwrap();
        let agent = format!(
            "command = \"cd $VERBATIM_SESSION_IO_DIR && bash {}\"",
            folder.path().join("agent.sh").display()
        );
        Self::with(folder, &agent, size, more)
    }

    /// The same with another agent, as `[agent]` has it, over the tasks of a folder.
    pub(crate) fn with(folder: TempDir, agent: &str, size: usize, more: &str) -> Self {
        let file = format!(
            r#"
[engine]
kind = "sim"
sim_tokens = 6
[dataset]
path = "tasks.jsonl"
metadata_key = "metadata"
[agent]
{agent}
cwd = "."
grace_seconds = 1
timeout_seconds = 20
concurrency = 4
[rollout]
group_size = {size}
output = "rows"
format = "jsonl"
retries = 0
[log]
events = "events.jsonl"
{more}
"#
        );
        // A later section of the same name would be refused: `more` sets single keys by flags instead.
        std::fs::write(folder.path().join("rollout.toml"), file).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = verbatim();
        command.arg("run").arg(self.path("rollout.toml")).args(flags);
        command
    }

    pub(crate) fn run(&self, flags: &[&str]) -> Output {
        self.command(flags).output().unwrap()
    }

    pub(crate) fn start(&self, flags: &[&str]) -> Child {
        self.command(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// All rows on disk, by file.
    pub(crate) fn rows(&self) -> Vec<Vec<Row>> {
        let Ok(entries) = std::fs::read_dir(self.path("rows")) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.iter().map(|file| Format::Jsonl.read(&std::fs::read(file).unwrap()).unwrap()).collect()
    }

    /// How often an event log line holds this text.
    pub(crate) fn told(&self, text: &str) -> usize {
        let log = std::fs::read_to_string(self.path("events.jsonl")).unwrap_or_default();
        log.lines().filter(|line| line.contains(text)).count()
    }
}

/// How many processes were started with this argument.
pub(crate) fn alive(argument: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
        .count()
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Everything a command said.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder's file names, hidden ones included.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
