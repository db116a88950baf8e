//! What this machine gives, and what is left on it.

use std::path::Path;

use verbatim_stages::check::Machine;

/// The variable that marks the processes of a demonstration.
pub(super) const MARK: &str = "VERBATIM_DEMONSTRATION";

/// The limits of this process.
pub(super) fn machine() -> Machine {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name))?;
        match line[name.len()..].split_whitespace().next()? {
            "unlimited" => Some(u64::MAX),
            value => value.parse().ok(),
        }
    };
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    Machine {
        files: limit("Max open files"),
        processes: limit("Max processes"),
        memory_mib: free.map(|kib: u64| kib >> 10),
    }
}

/// How many processes carry a mark in their environment; none where that cannot be seen.
pub(super) fn marked(mark: &str) -> Option<usize> {
    let wanted = format!("{MARK}={mark}");
    let mine = std::process::id().to_string();
    let processes =
        std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = processes
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != mine)
        .filter(|name| {
            let environment =
                std::fs::read(Path::new("/proc").join(name).join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        });
    Some(found.count())
}

/// Folders of agents in a temporary folder of the demonstration's own.
pub(super) fn folders(temporary: &Path) -> Option<usize> {
    let entries = std::fs::read_dir(temporary).ok()?;
    let is_agents = |name: &str| name.starts_with("verbatim-session-");
    Some(
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_agents(name))
            .count(),
    )
}
