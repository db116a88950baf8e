//! Stage D's report.

use serde::{Deserialize, Serialize};

use crate::check::{Hashes, Line, Verdict};
use crate::page::{Page, Part};

/// A demonstration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demonstration {
    /// In all.
    pub verdict: Verdict,
    /// Why it ran without a passing check, if it did.
    pub forced: Option<String>,
    /// The nine points.
    pub points: Vec<Line>,
    /// What it was given for.
    pub hashes: Hashes,
}

impl Demonstration {
    /// Adds up the points. What was forced is unverified at best, and so is a run whose job did not end well.
    pub fn new(points: Vec<Line>, forced: Option<String>, ended: Result<(), String>, hashes: Hashes) -> Self {
        let mut points = points;
        if let Err(how) = ended {
            points.push(Line::new(
                Verdict::Unsafe,
                "the job",
                how,
                "`verbatim diagnose BUNDLE` names the first broken link",
            ));
        }
        let all = Verdict::of_all(points.iter().map(|point| point.verdict));
        let verdict = if forced.is_some() && all == Verdict::Pass { Verdict::Unverified } else { all };
        Self { verdict, forced, points, hashes }
    }

    /// What is open, each with its way out.
    pub fn open(&self) -> Vec<String> {
        self.points.iter().filter(|point| point.blocks()).map(Line::told).collect()
    }

    fn todo(&self) -> Vec<&'static str> {
        if self.verdict == Verdict::Pass {
            return vec![
                "start the job: this rollout did what it should",
                "show others: `verbatim demonstrate --replay BUNDLE` judges the same evidence again, and starts nothing",
            ];
        }
        let mut todo = Vec::new();
        if self.points.iter().any(Line::blocks) {
            todo.push("put right each point that is no PASS: it says how");
        }
        if self.forced.is_some() {
            todo.push("let `verbatim check ROLLOUT.TOML` pass first: what was forced is never a PASS");
        }
        todo.push("demonstrate again");
        todo
    }

    /// The whole report.
    pub fn page(&self) -> Page {
        let forced = self.forced.clone().unwrap_or_else(|| "no".to_owned());
        let fields = [
            ("Current stage", "D".to_owned()),
            ("Stage name", "Demonstrate".to_owned()),
            ("Verdict", self.verdict.name().to_owned()),
            ("Forced", forced),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), vec![value])).to_vec();
        let told = |line: &Line| (line.verdict.name().to_owned(), line.told());
        Page::new("Stage D: Demonstrate")
            .with(Part::Fields(fields))
            .todo(&self.todo())
            .listing("The nine points", self.points.iter().map(told).collect())
            .with(Part::Heading("What it was given for, by hash".into()))
            .with(Part::Fields(
                self.hashes.iter().map(|(what, hash)| (what.clone(), vec![hash.clone()])).collect(),
            ))
    }
}
