//! Everything that lives below this process.

use rustix::process::{Pid, Signal, kill_process};

/// The living descendants of this process. As the reaper of its descendants it is an ancestor of
/// everything that anything below it ever started.
pub(super) fn living() -> Vec<Pid> {
    let me = std::process::id() as i32;
    let processes = table();
    let mut below = vec![me];
    let mut found = Vec::new();
    while let Some(parent) = below.pop() {
        for (pid, _) in processes.iter().filter(|(_, of)| *of == parent) {
            below.push(*pid);
            found.extend(Pid::from_raw(*pid));
        }
    }
    found
}

/// Sends a signal to each.
pub(super) fn signal(all: &[Pid], signal: Signal) {
    for pid in all {
        // It may have ended meanwhile.
        let _ = kill_process(*pid, signal);
    }
}

/// Process ids with their parents'. Zombies are left out: they are dead, and wait to be reaped.
fn table() -> Vec<(i32, i32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name in parentheses may hold anything, so what follows the last one counts.
            let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
            let state = fields.next()?;
            let parent = fields.next()?.parse().ok()?;
            (state != "Z").then_some((pid, parent))
        })
        .collect()
}
