//! How a run ended badly, as a report says it.
//!
//! The invariant: a line of a report has the last line of the log, which mostly names the fault; the rest stands under
//! the run.

/// What stands between what happened and the end of a log.
const LOG: &str = "; the end of its log:";

/// What happened, and the last line of the log.
pub(super) fn briefly(failed: &str) -> String {
    let happened = failed.split(LOG).next().unwrap_or(failed).trim();
    match log(failed).last() {
        Some(last) => format!("{happened}; its log ends: {}", last.trim()),
        None => happened.to_owned(),
    }
}

/// The end of the log, a line each, set in so that none is taken for a difference.
pub(super) fn log(failed: &str) -> Vec<String> {
    let tail = failed.split_once(LOG).map_or("", |(_, tail)| tail);
    tail.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_fault_and_the_log_is_kept_whole() {
        let failed =
            "it ended with exit code 1; the end of its log:\nTraceback\n  - in main\nKeyError: 'page'\n";
        assert_eq!(briefly(failed), "it ended with exit code 1; its log ends: KeyError: 'page'");
        assert_eq!(log(failed), ["  Traceback", "    - in main", "  KeyError: 'page'"]);
        assert_eq!(briefly("it used up its 2 s"), "it used up its 2 s");
        assert!(log("it used up its 2 s").is_empty());
    }
}
