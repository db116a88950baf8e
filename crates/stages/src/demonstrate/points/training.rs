//! What was trained on: rewards and rows, and a step of an optimizer.

use std::collections::{BTreeMap, BTreeSet};

use super::{Judged, KEEP, Points, open, pass, wrong};
use crate::log::Entry;
use crate::page::count;

impl Points<'_> {
    pub(super) fn credit(&self) -> Judged {
        let mut finished = BTreeSet::new();
        let (mut rows, mut started, mut filtered) = (0, 0, 0);
        let mut scored: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for entry in self.log {
            match entry {
                Entry::GroupStarted { .. } => started += 1,
                Entry::GroupFinished { group, rows: count, .. } => {
                    rows += count;
                    finished.insert(group.as_str());
                }
                Entry::SessionScored { group, reward, .. } => {
                    let (all, with) = scored.entry(group).or_default();
                    *all += 1;
                    *with += usize::from(reward.is_some());
                }
                Entry::GroupDropped { cause, .. } => filtered += usize::from(cause == "filtered"),
                _ => {}
            }
        }
        if finished.is_empty() {
            return open("no group was published", self.unseen());
        }
        let unscored = finished
            .iter()
            .find(|group| scored.get(**group).is_none_or(|(all, with)| with < all || *all == 0));
        if let Some(group) = unscored {
            return wrong(
                format!("{group} was published with a session that has no reward"),
                "let the agent write its reward into $VERBATIM_OUTPUT_JSON, or set reward.session",
            );
        }
        match &self.proof.rows {
            None => return open("the rows cannot be read here", KEEP),
            Some(read) => {
                let read: usize = read.values().sum();
                if read != rows {
                    return wrong(format!("the log says {rows} rows, and {read} were delivered"), KEEP);
                }
            }
        }
        if self.proof.filters && (filtered == 0 || started <= finished.len()) {
            return open(
                "groups may be dropped by a decision, and none was seen to be dropped and replaced",
                "let the job run until one is",
            );
        }
        let dropped = match filtered {
            0 => String::new(),
            filtered => {
                format!("; {} by a decision", count(filtered, "other was dropped", "others were dropped"))
            }
        };
        pass(format!(
            "{}, {}, each session with its reward{dropped}",
            count(finished.len(), "group", "groups"),
            count(rows, "row", "rows")
        ))
    }

    pub(super) fn optimizer(&self) -> Judged {
        let mut rewards: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let mut of_step: BTreeMap<u64, Vec<(&str, usize)>> = BTreeMap::new();
        let mut told = 0;
        for entry in self.log {
            match entry {
                Entry::SessionScored { group, reward: Some(reward), .. } => {
                    // −0 is 0.
                    rewards.entry(group).or_default().insert((reward + 0.0).to_bits());
                }
                Entry::GroupFinished { group, step, rows, .. } => {
                    of_step.entry(*step).or_default().push((group, *rows))
                }
                Entry::OptimizerStep { step, rows, groups } => {
                    told += 1;
                    let published: Vec<(&str, usize)> = of_step.get(step).cloned().unwrap_or_default();
                    let named: Vec<&str> = match groups.is_empty() {
                        true => published.iter().map(|(group, _)| *group).collect(),
                        false => groups.iter().map(String::as_str).collect(),
                    };
                    let known = named.iter().all(|group| published.iter().any(|(name, _)| name == group));
                    let delivered: usize = published.iter().map(|(_, rows)| rows).sum();
                    let taken = *rows > 0 && *rows <= delivered as u64;
                    // Where the trainer does not say whose rows they were, all of the step's must have been taken.
                    let all = !groups.is_empty() || *rows == delivered as u64;
                    let differ =
                        |group: &&&str| rewards.get(**group).is_some_and(|rewards| rewards.len() > 1);
                    if let (true, true, true, Some(group)) = (known, taken, all, named.iter().find(differ)) {
                        return pass(format!(
                            "step {step} was trained on {rows} rows; in {group} rewards differ"
                        ));
                    }
                }
                _ => {}
            }
        }
        match told {
            0 => open(
                "no optimizer_step: the trainer has not said that it made one",
                "give with --job a command that trains and says so (`Rollout.optimizer_step`): `verbatim run` trains nothing",
            ),
            told => open(
                format!(
                    "{}, none known to be over a group whose rewards differ",
                    count(told, "optimizer step", "optimizer steps")
                ),
                "take tasks that the model solves now and then, larger groups or more steps, and name the groups whose rows were trained on",
            ),
        }
    }
}
